#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gym/game/outer_work.hpp"
#include "gym/game/transcript.hpp"

/// Helpers of both sides in a game about an aggregate.
namespace gym::game {

/// Of move::DeclareOuter::slots, for each withdrawn delta.
inline constexpr std::size_t kWithdrawnEntryBytes = 4;
/// Of one set of move::DeclareOuter::slots, ascending.
std::vector<std::uint32_t> slots_in(ByteView set);
std::vector<Digest> roots_of(std::span<const OuterDelta> deltas);
/// Why the withdrawn delta in this place of the work's list may be subtracted; nullptr: the work
/// does not know a reason.
const WithdrawnSource* source_of(const OuterWork& work, std::size_t position);
/// The deltas that were declared, as their tree was posted or as one's own list has it. Nothing
/// where neither has the declared root.
std::optional<std::vector<OuterDelta>> declared_deltas(std::span<const OuterDelta> own,
                                                       const GameTranscript& transcript);
/// What the asserter of these values posts at a column, or at a part of one. @pre the values of all
/// deltas.
Bytes column_answer(const Cursor& at, const Bytes& values, const OuterFrame& frame);
/// The tensor roots that are the leaves of a tree.
std::vector<Digest> leaves_of(const OuterTrees& trees, OuterTree tree);
/// The chunk of a residual's tensor that has the elements of a row.
/// @errors kOutOfRange: there is no such chunk.
Result<dispute::ChunksOpening> chunk_of_row(const dispute::TracedTensor& residual,
                                            std::uint64_t row);
/// Whether it is a worker's commitment to this delta, in this round.
bool is_commitment_to(const protocol::SignedCommitment& commitment, const OuterDelta& delta,
                      const Digest& round_record);
std::vector<Digest> epoch_leaves(std::span<const protocol::SignedCommitment> epoch);

}  // namespace gym::game
