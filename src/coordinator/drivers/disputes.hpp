#pragma once

#include "context.hpp"

namespace gym::coordinator {

/// Applies what time alone decides to the job's units, with its consequences for workers.
Status settle_deadlines(const Context& context, const registry::Job& job, TickSummary& summary);

/// Ends the job's disputes. Those that games alone are about end with these. Where a report
/// disputes the unit, or the network plays no games: re-executes the units that are defended or
/// past their deadline, once no game can be opened, beside the ticks, one of a job at a time, and
/// rules.
Status referee_disputes(const Context& context, const registry::Job& job, TickSummary& summary);

}  // namespace gym::coordinator
