#pragma once

#include "context.hpp"

namespace gym::coordinator {

/// The outer step, the validation loss and the coordinator's own unit, once every unit of the round
/// is decided. Leaves the round in kAggregated.
Status aggregate_round(const Context& context, const registry::Job& job,
                       const registry::Round& round, TickSummary& summary);

}  // namespace gym::coordinator
