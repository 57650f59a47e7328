#pragma once

#include "context.hpp"

namespace gym::coordinator {

/// The outer step and the coordinator's own unit, once every unit of the round is decided. Leaves
/// the round in kAggregated, without its validation loss (evaluate_base()).
Status aggregate_round(const Context& context, const registry::Job& job,
                       const registry::Round& round, TickSummary& summary);

}  // namespace gym::coordinator
