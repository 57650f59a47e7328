#pragma once

#include "context.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/rounds.hpp"

namespace gym::coordinator {

/// The round's record as the chain takes it: with the aggregate that made its base state or, where
/// no delta went in, with the record before.
Result<RoundPost> round_post(const Context& context, const registry::Round& round);

/// Notes in which block the aggregate of the round is. The record of the next round brings it
/// there; if none follows now, the coordinator posts it alone. @pre its deltas went in.
/// @return whether it is there, or the round has none.
Result<bool> tend_aggregate(const Context& context, const registry::Job& job,
                            const registry::Round& round, TickSummary& summary);

}  // namespace gym::coordinator
