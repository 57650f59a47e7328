#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gym/commit/merkle.hpp"
#include "gym/common/result.hpp"
#include "gym/dispute/trace_program.hpp"
#include "gym/engine/record.hpp"
#include "gym/game/moves.hpp"
#include "gym/game/rules.hpp"
#include "gym/protocol/commitment.hpp"

/// Shared by the rules: libraries Frames, Descent and StepRecords of contracts/src/dispute.
namespace gym::game::rules {

/// Of a float.
inline constexpr std::uint64_t kWordBytes = 4;
/// Where a move leads, with the frames that it fixes.
struct Step {
    Cursor next;
    std::optional<StepFrame> step = std::nullopt;
    std::optional<OpFrame> op = std::nullopt;
    std::optional<OuterFrame> outer = std::nullopt;
};

/// @errors kConflict: another stage, or the other side moves.
Status expect(const Cursor& c, Stage stage, bool answered);
/// @errors kMismatch unless `hash` is what the cursor stands for.
Status check_frame(const Cursor& c, const Digest& hash);
/// @errors kMalformed.
Status check_not_zero(const Digest& digest);
Error wrong_stage(const Cursor& c);

/// The cursor at the root of a tree; a tree of one leaf needs no answer.
/// @errors kMalformed: a root of zero; kOutOfRange: no leaves or too many.
Result<Cursor> root_of(Stage stage, const Digest& node, std::uint64_t leaves, const Digest& frame);

/// That `children` are all the nodes below `node`, which is the cursor's or its twin, that an
/// answer must list. @errors kMalformed, kMismatch, kOutOfRange.
Status check_children(const Cursor& c, const Digest& node, std::span<const Digest> children,
                      unsigned levels_max);
/// Whether an answer to the cursor's node lists leaves.
bool lists_leaves(const Cursor& c, unsigned levels_max);

/// A node below the cursor's with its way up.
struct NodeProof {
    std::uint64_t index = 0;
    const Digest& node;
    std::span<const Digest> path;
};
/// That it is path.size() levels below `from`. @errors as above.
Status check_below(const Cursor& c, const Digest& from, const NodeProof& proof);
/// check_below() down to a leaf.
Status check_leaf_below(const Cursor& c, const Digest& from, const NodeProof& proof);
/// That of `pick` below the cursor's node.
Status check_leaf_pick(const Cursor& c, const Pick& pick);

/// @errors kMismatch: not the header of the program.
Result<dispute::TraceHeader> open_header(ByteView header, const Digest& program);
/// The record behind a link of the chain. @errors kMismatch, kMalformed.
Result<engine::StepRecord> open_record(ByteView record, const Digest& before, const Digest& link);

/// A proof's two sides. @errors kConflict: they are equal.
Result<Finding> unequal(std::uint64_t element, const Digest& claimed, const Digest& computed);
/// Big-endian in the last bytes.
Digest word_of(std::uint64_t number);

std::uint64_t little_endian(ByteView bytes);

/// That a chunk was posted, whose frame names `fixed`. @errors kConflict, kMismatch.
Status enter_chunk(const Cursor& c, const OpFrame& op, const Digest& fixed);
/// One element of a tensor: bytes that are compared as one number.
struct ElementBytes {
    std::uint64_t index = 0;
    std::uint64_t size = 0;
};
/// The asserter's element in the chunk that it posted. @errors kOutOfRange, kMalformed, kMismatch.
Result<std::uint64_t> claimed_in(const Cursor& c, const OpFrame& op, const ElementBytes& element,
                                 const Bytes& chunk);

std::uint64_t chunk_count(const dispute::Shape& shape);

/// An element of the residuals that were posted of a row. @errors kConflict, kMismatch,
/// kOutOfRange.
Result<std::uint64_t> claimed_in_row(const Cursor& c, std::uint64_t element, const Bytes& values);
/// The values that postRow shows: of the cursor's row. @errors of merkle_verify(), check_chunks();
/// kMismatch: no tensor was picked; kOutOfRange: the tensor has no such row.
Result<Bytes> residuals_in(const Cursor& c, const OpFrame& op,
                           const dispute::ChunksOpening& residual);
/// The head of a delta or an update: magic, codec, number of parameters.
Bytes delta_head(const dispute::TraceHeader& header);
/// SHA-256 of both.
Digest tagged(std::string_view tag, ByteView bytes);
/// A signed commitment whose kind may be any. @errors kMalformed: not 226 bytes of format 1.
Result<protocol::SignedCommitment> read_commitment(ByteView bytes);
/// @errors kUnauthenticated: no valid signature.
Result<Address> signer_of(const crypto::Eip712Domain& domain,
                          const protocol::SignedCommitment& commitment);
/// The fault in a worker's commitment: kSignatureField, or a contradiction. @param slot what the
/// record fixes for the commitment's; nullptr: it has none.
std::optional<std::uint8_t> signer_fault(const crypto::Eip712Domain& domain,
                                         const protocol::SignedCommitment& commitment,
                                         const protocol::RoundTerms& terms,
                                         const protocol::SlotAssignment* slot);
/// contradiction() of a commitment that must be a worker's, whatever its slot.
std::optional<std::uint8_t> train_contradiction(const protocol::UnitCommitment& commitment,
                                                const protocol::RoundTerms& terms,
                                                const protocol::SlotAssignment* slot,
                                                const Address& signer);

// Each decides one move. @errors of decide().
Result<Step> decide(const Cursor& c, const move::DeclareStates& m);
Result<Step> decide(const Cursor& c, const move::AnswerSteps& m);
Result<Step> decide(const Cursor& c, const move::Answer& m);
Result<Step> decide(const Cursor& c, const move::PickNode& m);
Result<Step> decide(const Cursor& c, const move::PickStep& m);
Result<Step> decide(const Cursor& c, const move::PickDelta& m);
Result<Step> decide(const Cursor& c, const move::OpenStep& m);
Result<Step> decide(const Cursor& c, const move::PickTree& m);
Result<Step> decide(const Cursor& c, const move::PickLeaf& m);
Result<Step> decide(const Cursor& c, const move::OpenMacro& m);
Result<Step> decide(const Cursor& c, const move::PickPrimitive& m);
Result<Step> decide(const Cursor& c, const move::OpenTensor& m);
Result<Step> decide(const Cursor& c, const move::PostChunk& m);
Result<Finding> decide(const Cursor& c, const move::ProveRecord& m);
Result<Finding> decide(const Cursor& c, const move::ProveInput& m);
Result<Finding> decide(const Cursor& c, const move::ProveSlot& m);
Result<Finding> decide(const Cursor& c, const move::ProveGradient& m);
Result<Finding> decide(const Cursor& c, const move::ProveElement& m);
Result<Finding> decide(const Cursor& c, const move::ProveToken& m);
Result<Finding> decide(const Cursor& c, const move::ProveDelta& m);
Result<Step> decide(const Cursor& c, const move::DeclareOuter& m);
Result<Step> decide(const Cursor& c, const move::ShowIncluded& m);
Result<Step> decide(const Cursor& c, const move::PostColumn& m);
Result<Step> decide(const Cursor& c, const move::PickOuter& m);
Result<Step> decide(const Cursor& c, const move::PickIncluded& m);
Result<Step> decide(const Cursor& c, const move::PickOuterTensor& m);
Result<Step> decide(const Cursor& c, const move::PickElement& m);
Result<Finding> decide(const Cursor& c, const move::ProveColumn& m);
Result<Finding> decide(const Cursor& c, const move::ProveOuter& m);
Result<Step> decide(const Cursor& c, const move::PickPart& m);
Result<Finding> decide(const Cursor& c, const move::ProvePart& m);
Result<Finding> decide(const Cursor& c, const move::ProveOuterSlot& m);
Result<Step> decide(const Cursor& c, const move::PickRow& m);
Result<Step> decide(const Cursor& c, const move::PostRow& m);
Result<Finding> decide(const Cursor& c, const move::ProveRow& m);
Result<Finding> decide(const Cursor& c, const move::ProveUpdate& m);
/// @param commitments as of game::decide().
Result<Finding> decide(const Cursor& c, const move::ProveSigner& m,
                       const crypto::Eip712Domain* commitments);
Result<Step> decide(const Cursor& c, const move::ShowWithheld& m,
                    const crypto::Eip712Domain* commitments);

/// Decides any move: some need the domain that commitments are signed for.
template <class M>
auto decide_any(const Cursor& c, const M& m, const crypto::Eip712Domain* commitments) {
    // Qualified: any move converts to game::decide()'s.
    if constexpr (requires { rules::decide(c, m, commitments); })
        return rules::decide(c, m, commitments);
    else
        return rules::decide(c, m);
}

}  // namespace gym::game::rules
