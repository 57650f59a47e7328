#pragma once

#include <span>

#include "gym/common/result.hpp"
#include "gym/engine/record.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/records/task.hpp"

// Nobody signs a task's list of deltas. A verifier that plays a game for a list that the
// coordinator did not commit to loses the game: these functions say when a list is the
// commitment's.

namespace gym::verifier {

/// Whether the deltas of an aggregate's task are those that it was committed to with, in their
/// order; nothing about their slots, which the commitment does not fix.
/// @param records the aggregate's step records, from wherever: they count only if they are the
/// commitment's. @errors kMismatch: they are not, or the deltas are not theirs.
Status check_shown_deltas(const records::VerifyTask& aggregate,
                          std::span<const engine::StepRecord> records);

/// Whether slots can be named, ascending as the deltas are listed, in which each of these deltas
/// was committed to. If not, whoever made an aggregate of them cannot show their commitments,
/// whatever slots it names. @param epoch all commitments under the root of the deltas' round.
[[nodiscard]] bool can_be_committed(std::span<const protocol::IncludedDelta> deltas,
                                    std::span<const protocol::SignedCommitment> epoch);

}  // namespace gym::verifier
