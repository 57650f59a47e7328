#pragma once

#include "context.hpp"

namespace gym::coordinator {

/// Runs a unit of the job again that a game proved wrong, if a signed report agrees with it: what
/// the game proved, the asserter's answers may have brought about. One at a time.
Status check_reports(const Context& context, const registry::Job& job, TickSummary& summary);

}  // namespace gym::coordinator
