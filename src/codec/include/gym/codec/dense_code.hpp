#pragma once

#include <cstddef>
#include <span>

#include "gym/codec/tensor_grid.hpp"
#include "gym/common/bytes.hpp"
#include "gym/kernels/delta_blocks.hpp"

namespace gym::codec {

/// Codec 1 and the update that a round publishes, one tensor. Block b is 520 bytes at 520 * b:
///   bytes 0..511    element i's level k in half i % 2 (0: low) of byte i / 2, two's complement,
///                   -7 .. 7
///   bytes 512..519  the scale s of elements 64 j .. 64 j + 63 in half j % 2 of byte 512 + j / 2,
///                   0 .. 14
/// and element i is k * 2^s. A last block of m < 1,024 elements is ceil(m / 2) bytes of levels,
/// then ceil(ceil(m / 64) / 2) bytes of scales; halves without an element or span are 0. If s > 0,
/// some level of its span has |k| >= 4.
inline constexpr std::size_t kDenseLevelBytes = kBlock / 2;
inline constexpr std::size_t kDenseScales = kBlock / kernels::kDenseScaleSpan;
inline constexpr std::size_t kDenseBlockBytes = kDenseLevelBytes + kDenseScales / 2;

/// Bytes of a block with `elements` <= 1,024.
[[nodiscard]] constexpr std::uint64_t dense_block_bytes(std::uint64_t elements) {
    constexpr std::uint64_t kSpan = kernels::kDenseScaleSpan;
    return (elements + 1) / 2 + ((elements + kSpan - 1) / kSpan + 1) / 2;
}
/// At most 0.5079 bytes an element of large tensors.
[[nodiscard]] constexpr std::uint64_t dense_code_bytes(std::uint64_t elements) {
    return elements / kBlock * kDenseBlockBytes + dense_block_bytes(elements % kBlock);
}

/// The parts of a block, as kernels::dense_block() makes them.
struct DenseBlock {
    std::uint8_t levels[kDenseLevelBytes];
    std::uint8_t scales[kDenseScales];
};
/// `to` gets dense_block_bytes(elements) bytes.
void write_dense_block(const DenseBlock& block, std::uint64_t elements, std::uint8_t* to);

/// Bytes that were checked. Borrows them. Immutable, thread-safe.
class DenseCode {
  public:
    /// @errors kMalformed, with the block and what is wrong: too few or too many bytes, a level of
    /// -8, a scale of 15 or larger than it need be, padding that is not 0. Those of check().
    [[nodiscard]] static Result<DenseCode> decode(const TensorGrid& tensor, ByteView bytes);

    [[nodiscard]] const TensorGrid& tensor() const { return tensor_; }
    [[nodiscard]] ByteView bytes() const { return bytes_; }
    /// Levels and scales beyond the tensor's last element are 0.
    [[nodiscard]] DenseBlock block(std::uint64_t block) const;
    /// Sum of squares of all decoded integers.
    [[nodiscard]] std::uint64_t squared_norm() const;
    /// sums[i - first * 1024] += weight * d_i for the elements i of blocks first, first + 1, ... as
    /// far as `sums` reaches: a parameter range.
    /// @param sums whole blocks, but for the tensor's last. |weight| <= 2^20.
    void add_to(std::span<std::int64_t> sums, std::int64_t weight, std::uint64_t first = 0,
                kernels::Isa isa = kernels::detect_isa()) const;

  private:
    friend class OwnCode;  // encode(), whose own bytes need no check
    DenseCode(const TensorGrid& tensor, ByteView bytes) : tensor_(tensor), bytes_(bytes) {}
    TensorGrid tensor_;
    ByteView bytes_;
};

}  // namespace gym::codec
