#pragma once

#include <cstddef>
#include <span>

#include "gym/codec/tensor_grid.hpp"
#include "gym/common/bytes.hpp"
#include "gym/kernels/delta_blocks.hpp"

namespace gym::codec {

/// Codec 2, one tensor. Block b is 25 bytes at 1024 * (b / 40) + 25 * (b % 40), so that 40 blocks
/// fill a leaf of 1,024 bytes and every range of blocks is a range of bytes; the 24 bytes behind
/// each full leaf are zero, and nothing follows the last block.
///
/// The bytes of a block are strings of bits; bit i of a string is bit i % 8 (1 << i % 8) of byte i
/// / 8:
///   bytes 0..19   entry k's index at bits 10 k .. 10 k + 9, lowest bit first; strictly ascending
///   bytes 20..23  entry k's level at bits 2 k (0: 3 * 2^s, 1: 6 * 2^s) and 2 k + 1 (1: negative)
///   byte 24       16 * (s + 1) + n - 1: n = 1 .. 16 entries, s = 0 .. 14; 0: no entry
/// Bits of absent entries are 0. If s > 0, some entry has 6 * 2^s. Indices lie within the tensor.
inline constexpr std::size_t kSparseBlockBytes = 25;
inline constexpr std::size_t kSparseBlocksPerLeaf = 40;
inline constexpr std::size_t kSparseLeafBytes = 1024;

/// At most 0.02501 bytes an element of large tensors.
[[nodiscard]] constexpr std::uint64_t sparse_code_bytes(std::uint64_t elements) {
    const std::uint64_t blocks = blocks_of(elements);
    return blocks / kSparseBlocksPerLeaf * kSparseLeafBytes +
           blocks % kSparseBlocksPerLeaf * kSparseBlockBytes;
}
[[nodiscard]] constexpr std::uint64_t sparse_block_offset(std::uint64_t block) {
    return block / kSparseBlocksPerLeaf * kSparseLeafBytes +
           block % kSparseBlocksPerLeaf * kSparseBlockBytes;
}

/// `to` gets the 25 bytes of a block that is in order (as kernels::sparse_block() makes them).
void write_sparse_block(const kernels::SparseBlock& block, std::uint8_t* to);

/// Bytes that were checked: every entry is in order. Borrows them. Immutable, thread-safe.
class SparseCode {
  public:
    /// @errors kMalformed, with the block and what is wrong: too few or too many bytes, an order,
    /// index, scale or padding that no encoder writes. Those of check().
    [[nodiscard]] static Result<SparseCode> decode(const TensorGrid& tensor, ByteView bytes);

    [[nodiscard]] const TensorGrid& tensor() const { return tensor_; }
    [[nodiscard]] ByteView bytes() const { return bytes_; }
    [[nodiscard]] kernels::SparseBlock block(std::uint64_t block) const;
    /// Sum of squares of all decoded integers.
    [[nodiscard]] std::uint64_t squared_norm() const;
    /// sums[i - first * 1024] += weight * d_i for the elements i of blocks first, first + 1, ... as
    /// far as `sums` reaches: a parameter range.
    /// @param sums whole blocks, but for the tensor's last. |weight| <= 2^20.
    void add_to(std::span<std::int64_t> sums, std::int64_t weight, std::uint64_t first = 0) const;

  private:
    friend class OwnCode;  // encode(), whose own bytes need no check
    SparseCode(const TensorGrid& tensor, ByteView bytes) : tensor_(tensor), bytes_(bytes) {}
    TensorGrid tensor_;
    ByteView bytes_;
};

}  // namespace gym::codec
