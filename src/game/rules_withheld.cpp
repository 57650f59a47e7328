#include <algorithm>
#include <string>

#include "gym/commit/codec.hpp"
#include "gym/common/amount.hpp"
#include "gym/game/withheld.hpp"
#include "gym/game/withheld_answers.hpp"
#include "rules_common.hpp"

// Games about withheld data. contracts/src/dispute/WithheldRules.sol: showWithheld.
namespace gym::game::rules {
namespace {

Status check_no_path(std::span<const Digest> path) {
    if (path.empty()) return {};
    return fail(ErrorCode::kMalformed,
                "a path of " + std::to_string(path.size()) + " digests where there is none");
}

/// The root to which `leaf` and its siblings lead, from the bottom up. Levels above the highest bit
/// of `index` have the node on the left.
Digest ascend(std::uint64_t index, const Digest& leaf, std::span<const Digest> path) {
    Digest node = leaf;
    for (const Digest& sibling : path) {
        node = index % 2 == 0 ? commit::merkle_node(node, sibling)
                              : commit::merkle_node(sibling, node);
        index /= 2;
    }
    return node;
}

/// A commitment under the root of the epoch of its round, or of the next one. @param head which of
/// the two, and where in it.
Status check_under_epoch(const DataRequest& request, ByteView head, const Digest& leaf,
                         std::span<const Digest> path) {
    commit::Decoder place(head);
    GYM_TRY(const std::uint8_t next, place.u8());
    GYM_TRY(const std::uint32_t index, place.u32());
    GYM_CHECK(place.expect_end());
    const Digest& root = next != 0 ? request.next_root : request.root;
    const std::uint32_t leaves = next != 0 ? request.next_leaves : request.leaves;
    return commit::merkle_verify(root, {index, leaves}, leaf, path);
}

/// Another commitment of the same worker to the same unit is an answer, too: it shows that the
/// worker is at fault.
Status check_same_unit(const DataRequest& request, ByteView commitment,
                       const crypto::Eip712Domain* commitments) {
    GYM_TRY(const protocol::SignedCommitment other, read_commitment(commitment));
    if (commitments == nullptr)
        return fail(ErrorCode::kInvalidArgument, "no domain to check signatures by was given");
    // As in the contract, a commitment that nobody has signed is the zero address's.
    const Address signer = signer_of(*commitments, other).value_or(Address());
    if (other.commitment.round_record == request.round_record &&
        other.commitment.slot == request.slot && signer == request.worker)
        return {};
    return fail(ErrorCode::kMismatch,
                "neither the commitment that is asked for nor one of its worker to the same unit");
}

Status check_commitment(const move::ShowWithheld& m, const crypto::Eip712Domain* commitments) {
    GYM_CHECK(check_no_path(m.above));
    const Digest leaf = tagged("gym.commitment.v1", m.content);
    GYM_CHECK(check_under_epoch(m.request, m.head, leaf, m.path));
    if (leaf == m.request.leaf) return {};
    return check_same_unit(m.request, m.content, commitments);
}

/// As the contract counts: dims may be any, and a size that 256 bits do not hold is refused.
Result<Amount> bytes_of(const dispute::Shape& shape) {
    Amount bytes(commit::size_bytes(shape.dtype));
    for (const std::uint64_t dim : shape.dims) {
        GYM_TRY(bytes, bytes.mul_div(Amount(dim), Amount(1)));
    }
    return bytes;
}

/// commit::tree_depth() of a number of leaves that may be any.
std::size_t depth_of(const Amount& leaves) {
    std::size_t depth = 0;
    for (Amount width(1); width < leaves; width = width.plus(width).value())
        ++depth;
    return depth;
}

/// The tree root of a tensor, from a chunk of it; or as it is brought, if it has no such chunk.
Result<Digest> tree_root_of(const dispute::Shape& shape, const move::ShowWithheld& m) {
    GYM_TRY(const Amount bytes, bytes_of(shape));
    GYM_TRY(const Amount padded, bytes.plus(Amount(commit::kChunkBytes - 1)));
    GYM_TRY(const Amount chunks, padded.mul_div(Amount(1), Amount(commit::kChunkBytes)));
    const bool there = Amount(m.request.chunk) < chunks;
    std::uint64_t size = 0;
    if (there) {
        GYM_TRY(const Amount begin,
                Amount(m.request.chunk).mul_div(Amount(commit::kChunkBytes), Amount(1)));
        GYM_TRY(const Amount left, bytes.minus(begin));
        GYM_TRY(size, std::min(left, Amount(commit::kChunkBytes)).to_u64());
    }
    if (m.content.size() != size)
        return fail(ErrorCode::kMalformed, "a chunk of " + std::to_string(m.content.size()) +
                                               " bytes, the tensor's has " + std::to_string(size));
    const std::size_t digests = there ? depth_of(chunks) : 1;
    if (m.path.size() != digests)
        return fail(ErrorCode::kMalformed, "a path of " + std::to_string(m.path.size()) +
                                               " digests, not of " + std::to_string(digests));
    if (!there) return m.path.front();
    return ascend(m.request.chunk, commit::chunk_leaf(m.content), m.path);
}

/// A leaf without a tensor: the head of a dataset, or the absent leaf where a state has no tensor.
Result<Digest> bare_leaf(const move::ShowWithheld& m) {
    GYM_CHECK(check_no_path(m.path));
    const Wanted what = m.request.what;
    if (what == Wanted::kDataset && m.content.size() <= commit::kChunkBytes)
        return commit::chunk_leaf(m.content);
    const bool state = what == Wanted::kBase || what == Wanted::kOuter;
    if (state && m.content.empty()) return commit::absent_leaf();
    return fail(ErrorCode::kMalformed, std::to_string(m.content.size()) + " bytes of no tensor");
}

Result<Digest> leaf_of_answer(const move::ShowWithheld& m) {
    if (m.head.empty()) return bare_leaf(m);
    GYM_TRY(const dispute::Shape shape, read_tensor_head(m.head));
    GYM_TRY(const Digest tree_root, tree_root_of(shape, m));
    return dispute::tensor_digest(shape, tree_root);
}

Status check_chunk(const move::ShowWithheld& m) {
    GYM_TRY(const Digest leaf, leaf_of_answer(m));
    // Nobody asks for the number of leaves above: a tensor's digest, the head of a dataset and the
    // absent leaf are hashes of other bytes than a node is, so each has one depth.
    const bool too_deep =
        is_of_delta(m.request.what) || (m.request.what == Wanted::kDataset && m.above.size() > 1);
    if (too_deep) GYM_CHECK(check_no_path(m.above));
    const Digest root = ascend(m.request.tensor, leaf, m.above);
    if (root == m.request.root) return {};
    return fail(ErrorCode::kMismatch,
                "the path leads to " + root.hex() + ", not to " + m.request.root.hex());
}

}  // namespace

Result<Step> decide(const Cursor& c, const move::ShowWithheld& m,
                    const crypto::Eip712Domain* commitments) {
    GYM_CHECK(expect(c, Stage::kUnit, false));
    GYM_CHECK(check_frame(c, hash_of(m.request)));
    GYM_CHECK(m.request.what == Wanted::kCommitment ? check_commitment(m, commitments)
                                                    : check_chunk(m));
    Cursor next = c;
    next.answered = true;
    next.node = Digest();  // nothing is left to prove
    return Step{next};
}

}  // namespace gym::game::rules
