#include "gym/game/withheld_answers.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "gym/blob/dataset_header.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/state_index.hpp"
#include "gym/game/evidence.hpp"
#include "rules_common.hpp"

namespace gym::game {
namespace {

using move::ShowWithheld;

/// Blobs are read in pieces of this size, which is a number of whole chunks.
constexpr std::uint64_t kReadBytes = std::uint64_t{1024} * commit::kChunkBytes;

std::uint64_t bytes_of(const StoredTensor& tensor) {
    return dispute::size_bytes(tensor.shape);
}

Status check_inside(const StoredTensor& tensor) {
    const std::uint64_t size = tensor.blob.size();
    if (tensor.begin <= size && bytes_of(tensor) <= size - tensor.begin) return {};
    return fail(ErrorCode::kOutOfRange, "the blob ends within the tensor");
}

Result<Bytes> read_at(const blob::BlobReader& blob, std::uint64_t offset, std::uint64_t size) {
    Bytes out(size);
    GYM_CHECK(blob.read(offset, out));
    return out;
}

/// Hands over the tensor's bytes, piece by piece.
template <class Visit>
Status visit_pieces(const StoredTensor& tensor, const Visit& visit) {
    GYM_CHECK(check_inside(tensor));
    const std::uint64_t total = bytes_of(tensor);
    for (std::uint64_t at = 0; at < total; at += kReadBytes) {
        GYM_TRY(const Bytes piece,
                read_at(tensor.blob, tensor.begin + at, std::min(kReadBytes, total - at)));
        visit(piece);
    }
    return {};
}

Result<commit::MerkleTree> tree_of(const StoredTensor& tensor) {
    std::vector<Digest> leaves;
    GYM_CHECK(visit_pieces(tensor, [&](ByteView piece) {
        const std::vector<Digest> some = commit::chunk_leaves(piece);
        leaves.insert(leaves.end(), some.begin(), some.end());
    }));
    return commit::MerkleTree(std::move(leaves));
}

Result<Digest> root_of(const StoredTensor& tensor) {
    commit::ChunkTreeHasher hasher;
    GYM_CHECK(visit_pieces(tensor, [&](ByteView piece) { hasher.update(piece); }));
    return dispute::tensor_digest(tensor.shape, hasher.root());
}

/// Fills in the part of the answer below the tensor's root.
Status add_chunk(ShowWithheld& answer, const StoredTensor& tensor) {
    GYM_TRY(const commit::MerkleTree tree, tree_of(tensor));
    answer.head = tensor_head(tensor.shape);
    const std::uint64_t chunk = answer.request.chunk;
    const std::uint64_t total = bytes_of(tensor);
    if (chunk >= (total + commit::kChunkBytes - 1) / commit::kChunkBytes) {
        answer.path = {tree.root()};
        return {};
    }
    const std::uint64_t begin = chunk * commit::kChunkBytes;
    GYM_TRY(answer.content, read_at(tensor.blob, tensor.begin + begin,
                                    std::min<std::uint64_t>(commit::kChunkBytes, total - begin)));
    GYM_TRY(answer.path, tree.prove(chunk));
    return {};
}

/// The answer, if the rules take it.
Result<ShowWithheld> checked(ShowWithheld answer, const crypto::Eip712Domain* domain = nullptr) {
    const Cursor asked = start_of({}, answer.request);
    const auto decided = rules::decide(asked, answer, domain);
    if (!decided.ok()) return decided.error().in("the data is not what is asked for");
    return answer;
}

/// The siblings of a place in a tree, be there a leaf or not.
std::vector<Digest> siblings_of(const commit::MerkleTree& tree, std::uint64_t place) {
    std::vector<Digest> path;
    for (unsigned height = 0; height < commit::tree_depth(tree.leaf_count()); ++height)
        path.push_back(tree.node(height, place >> height ^ 1));
    return path;
}

StoredTensor tensor_of(const blob::BlobReader& state, const engine::StateIndex& index,
                       std::size_t tensor) {
    const engine::TensorLayout& layout = index.layout()[tensor];
    return {state, index.begin(tensor), {layout.dtype, layout.dims}};
}

}  // namespace

Bytes tensor_head(const dispute::Shape& shape) {
    commit::Encoder out;
    out.u8(static_cast<std::uint8_t>(shape.dtype)).u8(static_cast<std::uint8_t>(shape.dims.size()));
    for (const std::uint64_t dim : shape.dims)
        out.u64(dim);
    return out.take();
}

Result<dispute::Shape> read_tensor_head(ByteView head) {
    commit::Decoder in(head);
    dispute::Shape shape;
    GYM_TRY(const std::uint8_t dtype, in.u8());
    GYM_TRY(shape.dtype, commit::dtype_from(dtype));
    GYM_TRY(const std::uint8_t rank, in.u8());
    if (rank > commit::kRankMax)
        return fail(ErrorCode::kMalformed, "a tensor of rank " + std::to_string(rank));
    shape.dims.resize(rank);
    for (std::uint64_t& dim : shape.dims) {
        GYM_TRY(dim, in.u64());
    }
    GYM_CHECK(in.expect_end());
    return shape;
}

Result<ShowWithheld> show_chunk(const DataRequest& request, const StoredTensor& tensor,
                                std::vector<Digest> above) {
    ShowWithheld answer{request, {}, {}, {}, std::move(above)};
    GYM_CHECK(add_chunk(answer, tensor));
    return checked(std::move(answer));
}

Result<ShowWithheld> show_delta(const DataRequest& request, const blob::BlobReader& delta) {
    return show_chunk(request, {delta, 0, {commit::DType::kU8, {delta.size()}}}, {});
}

Result<ShowWithheld> show_state(const DataRequest& request, const blob::BlobReader& state) {
    GYM_TRY(const std::vector<Digest> roots, tensor_roots(state));
    return show_state(request, state, roots);
}

Result<std::vector<Digest>> tensor_roots(const blob::BlobReader& state) {
    GYM_TRY(const engine::StateIndex index, engine::StateIndex::read(state));
    std::vector<Digest> roots;
    for (std::size_t i = 0; i < index.tensors(); ++i) {
        GYM_TRY(const Digest root, root_of(tensor_of(state, index, i)));
        roots.push_back(root);
    }
    return roots;
}

Result<ShowWithheld> show_state(const DataRequest& request, const blob::BlobReader& state,
                                std::span<const Digest> roots) {
    GYM_TRY(const engine::StateIndex index, engine::StateIndex::read(state));
    if (roots.size() != index.tensors())
        return fail(ErrorCode::kMismatch, "the roots are of another state");
    const commit::MerkleTree tree(std::vector<Digest>(roots.begin(), roots.end()));
    // A path of so many siblings has no more places.
    const std::uint64_t place =
        request.tensor % (std::uint64_t{1} << commit::tree_depth(index.tensors()));
    std::vector<Digest> above = siblings_of(tree, place);
    if (place < index.tensors())
        return show_chunk(request, tensor_of(state, index, place), std::move(above));
    return checked({request, {}, {}, {}, std::move(above)});
}

Result<ShowWithheld> show_dataset(const DataRequest& request, const blob::BlobReader& file) {
    GYM_TRY(const Bytes begin,
            read_at(file, 0, std::min<std::uint64_t>(file.size(), blob::kDatasetHeaderBytesMax)));
    GYM_TRY(const blob::DatasetHeader header, blob::read_dataset_header(begin, file.size()));
    const StoredTensor tokens{file, header.size_bytes(), {header.dtype(), {header.tokens}}};
    const std::optional<Digest> leaf = header.leaf();
    if (!leaf) return show_chunk(request, tokens, {});
    if (request.tensor % 2 != 0) return show_chunk(request, tokens, {*leaf});
    GYM_TRY(const Digest root, root_of(tokens));
    return checked({request, {}, header.encode(), {}, {root}});
}

namespace {

std::vector<Digest> leaves_of(std::span<const protocol::SignedCommitment> commitments) {
    std::vector<Digest> leaves;
    for (const protocol::SignedCommitment& one : commitments)
        leaves.push_back(protocol::commitment_leaf(one));
    return leaves;
}

/// The first commitment of an epoch that `suits`.
/// @param next whether the epoch is the next round's.
template <class Suits>
std::optional<ShowWithheld> find_shown(const DataRequest& request,
                                       std::span<const protocol::SignedCommitment> epoch, bool next,
                                       const Suits& suits) {
    const auto found = std::ranges::find_if(epoch, suits);
    if (found == epoch.end()) return std::nullopt;
    const auto index = static_cast<std::uint32_t>(found - epoch.begin());
    commit::Encoder head;
    head.boolean(next).u32(index);
    ShowWithheld answer{request, head.take(), protocol::encode(*found), {}, {}};
    answer.path = siblings_of(commit::MerkleTree(leaves_of(epoch)), index);
    return answer;
}

}  // namespace

Result<ShowWithheld> show_commitment(const crypto::Eip712Domain& domain, const DataRequest& request,
                                     const EpochCommitments& epochs) {
    const auto is_asked_for = [&](const protocol::SignedCommitment& one) {
        return one.commitment.slot == request.slot &&
               protocol::commitment_leaf(one) == request.leaf;
    };
    const auto is_of_same_unit = [&](const protocol::SignedCommitment& one) {
        if (one.commitment.slot != request.slot ||
            one.commitment.round_record != request.round_record)
            return false;
        const auto signer = rules::signer_of(domain, one);
        return signer.ok() && *signer == request.worker;
    };
    const auto find = [&](const auto& suits) {
        auto found = find_shown(request, epochs.own, false, suits);
        return found ? found : find_shown(request, epochs.next, true, suits);
    };
    std::optional<ShowWithheld> answer = find(is_asked_for);
    if (!answer) answer = find(is_of_same_unit);
    if (!answer)
        return fail(ErrorCode::kNotFound, "the epochs have neither the commitment " +
                                              request.leaf.hex() +
                                              " nor another one of its worker to the same unit");
    return checked(std::move(*answer), &domain);
}

}  // namespace gym::game
