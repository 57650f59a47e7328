#pragma once

#include "context.hpp"

namespace gym::coordinator {

/// The outer step and the coordinator's own unit, once every unit of the round is decided. Leaves
/// the round in kAggregated, without its validation loss.
Status aggregate_round(const Context& context, const registry::Job& job,
                       const registry::Round& round, TickSummary& summary);

/// The validation loss of the job's oldest base state without one, unless a round waits for the
/// coordinator: workers compute meanwhile, or there is nothing to wait for.
Status evaluate_base(const Context& context, const registry::Job& job, TickSummary& summary);

}  // namespace gym::coordinator
