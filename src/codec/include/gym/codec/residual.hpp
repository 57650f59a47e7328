#pragma once

#include "gym/codec/tensor_grid.hpp"
#include "gym/common/bytes.hpp"
#include "gym/kernels/delta_blocks.hpp"

namespace gym::codec {

/// What an encoder could not send, one tensor: element i is levels[i] * 2^scales[i / 1024] in units
/// of 2^(g-8), g the tensor's grid exponent. Two committed tensors: i8 [elements], whose every
/// leaf is a block, and u8 [blocks]. 1 + 1/1024 bytes an element.
struct Residual {
    Bytes levels;  ///< i8 in two's complement, -127 .. 127
    Bytes scales;  ///< 0 .. 19; the smallest that holds its block

    /// The residual of a slot at a reset, or with a new owner.
    [[nodiscard]] static Residual zero(std::uint64_t elements);
    [[nodiscard]] kernels::ResidualBlock block(std::uint64_t block) const;
    friend bool operator==(const Residual&, const Residual&) = default;
};

/// Checks a residual that a peer sent. @errors kMalformed, with the place: other sizes, a level of
/// -128, a scale above 19, or one above 0 in whose block no level has a magnitude of 64 or more.
Status check(const TensorGrid& tensor, const Residual& residual);

/// A slot's residual starts a round as zero every so many rounds; its slots take turns, so that
/// anyone derives a residual by running at most kResetRounds - 1 public units again.
inline constexpr std::uint64_t kResetRounds = 8;
[[nodiscard]] constexpr bool resets(std::uint64_t round, std::uint32_t slot) {
    return (round + slot) % kResetRounds == 0;
}

}  // namespace gym::codec
