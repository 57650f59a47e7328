#pragma once

#include <stop_token>

#include "context.hpp"

namespace gym::coordinator {

/// The validation loss of the job's oldest base state without one, and the unit that stands for it,
/// unless a round waits for the coordinator: workers compute meanwhile, or there is nothing to wait
/// for.
Status evaluate_base(const Context& context, const registry::Job& job, TickSummary& summary);

/// The evaluation of the base state that `round` ended in.
/// @pre it has ended in one. @errors of the store and of Compute::evaluate().
Result<Compute::Evaluated> evaluate(const Context& context, const registry::Job& job,
                                    const registry::Round& round, const std::stop_token& stop);

}  // namespace gym::coordinator
