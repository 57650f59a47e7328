#pragma once

#include <vector>

#include "context.hpp"
#include "gym/protocol/round_record.hpp"

namespace gym::coordinator {

[[nodiscard]] protocol::UnitKey aggregate_key(const registry::Round& round);

/// Has the player defend the coordinator's aggregate of `round`. To be called before anyone can see
/// the signature, or whoever opened a game at once would win it by the clock.
Status defend_aggregate(const Context& context, const registry::Job& job,
                        const registry::Round& round, const protocol::SignedCommitment& commitment,
                        const std::vector<protocol::IncludedDelta>& included);

/// Leaves all aggregates that are not final and can be in a game to the player, whatever instance
/// signed them: what is missing in its folder, or is about another signature than the registry's,
/// as where two instances signed at once. Once a tick.
Status restore_claims(const Context& context, TickSummary& summary);

/// Leaves to the player the workers that signed two commitments for one unit. Once a tick.
Status file_conflicts(const Context& context, TickSummary& summary);

/// Leaves to the player the signed reports of verifiers that are false. Once a tick.
Status file_false_reports(const Context& context, TickSummary& summary);

}  // namespace gym::coordinator
