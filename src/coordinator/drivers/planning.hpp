#pragma once

#include "context.hpp"

namespace gym::coordinator {

/// Makes the record of the job's next round when there is work to give, enough workers and enough
/// budget.
Status plan_round(const Context& context, const registry::Job& job, TickSummary& summary);

}  // namespace gym::coordinator
