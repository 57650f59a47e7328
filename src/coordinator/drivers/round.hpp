#pragma once

#include "context.hpp"

namespace gym::coordinator {

/// Takes every step that a round can take now.
Status step_round(const Context& context, const registry::Job& job, registry::Round round,
                  TickSummary& summary);

}  // namespace gym::coordinator
