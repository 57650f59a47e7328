#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gym/blob/blob_store.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/dispute/trace_program.hpp"
#include "gym/game/moves.hpp"
#include "gym/protocol/commitment.hpp"

/// Plans the answer of a game about withheld data. Pure functions of the data and the request, in
/// memory that does not grow with the data but for 32 bytes of every chunk of one tensor. They
/// check that the rules take the answer.
namespace gym::game {

/// dtype u8, rank u8, dims u64 each, big-endian: what is hashed into a tensor's root before its
/// tree root.
[[nodiscard]] Bytes tensor_head(const dispute::Shape& shape);
/// @errors kMalformed: another length than the rank says, more than 8 dims, or no such dtype.
[[nodiscard]] Result<dispute::Shape> read_tensor_head(ByteView head);

/// A tensor whose bytes lie within a blob. Borrows the blob.
struct StoredTensor {
    const blob::BlobReader& blob;
    std::uint64_t begin = 0;
    dispute::Shape shape;
};
/// The chunk of a tensor that is asked for; its tree root, if it has no such chunk.
/// @param above from the tensor's root to that of the request.
/// @errors kMismatch: the request is for another tensor; the reader's.
[[nodiscard]] Result<move::ShowWithheld> show_chunk(const DataRequest& request,
                                                    const StoredTensor& tensor,
                                                    std::vector<Digest> above);
/// Of a delta's bytes. @errors as show_chunk().
[[nodiscard]] Result<move::ShowWithheld> show_delta(const DataRequest& request,
                                                    const blob::BlobReader& delta);
/// Of an encoded state; where it has no tensor in the place, that there is none.
/// @errors of StateIndex::read(); kMismatch: the request is for another state; the reader's.
[[nodiscard]] Result<move::ShowWithheld> show_state(const DataRequest& request,
                                                    const blob::BlobReader& state);
/// Roots of all tensors of an encoded state: reads and hashes the whole of it.
/// @errors of StateIndex::read(); the reader's.
[[nodiscard]] Result<std::vector<Digest>> tensor_roots(const blob::BlobReader& state);
/// As above, with the state's tensor_roots(): reads no more than the tensor that is asked for.
[[nodiscard]] Result<move::ShowWithheld> show_state(const DataRequest& request,
                                                    const blob::BlobReader& state,
                                                    std::span<const Digest> roots);
/// Of a token file, or its head.
/// @errors of read_dataset_header(); kMismatch: the request is for another one; the reader's.
[[nodiscard]] Result<move::ShowWithheld> show_dataset(const DataRequest& request,
                                                      const blob::BlobReader& file);

/// Commitments under the roots of two epochs, in the order of their trees.
struct EpochCommitments {
    std::span<const protocol::SignedCommitment> own;   ///< of the round of the one asked for
    std::span<const protocol::SignedCommitment> next;  ///< of the round after it
};
/// The commitment that is asked for, or another one of its worker to the same unit.
/// @param domain that commitments are signed for.
/// @errors kNotFound: neither epoch has one; kMismatch: they are not the request's epochs.
[[nodiscard]] Result<move::ShowWithheld> show_commitment(const crypto::Eip712Domain& domain,
                                                         const DataRequest& request,
                                                         const EpochCommitments& epochs);

}  // namespace gym::game
