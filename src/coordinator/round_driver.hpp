#pragma once

#include "context.hpp"

namespace gym::coordinator {

/// Takes every step that a round can take now.
Status step_round(const Context& context, const registry::Job& job, registry::Round round,
                  TickSummary& summary);

/// The outer step, the validation loss and the coordinator's own unit, once every unit of the round
/// is decided. Leaves the round in kAggregated.
Status aggregate_round(const Context& context, const registry::Job& job,
                       const registry::Round& round, TickSummary& summary);

/// Gives every drawn unit of the round without a verifier one, as far as there are verifiers.
Status assign_verifiers(const Context& context, db::Transaction& tx, const registry::Round& round,
                        UnixMs now_ms);

}  // namespace gym::coordinator
