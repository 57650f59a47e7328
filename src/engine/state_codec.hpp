#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "gym/commit/codec.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/state_layout.hpp"

/// What the encodings of states and of their layouts have in common.
namespace gym::engine {

inline constexpr std::uint32_t kStateTensorsMax = 1U << 16;
inline constexpr std::uint32_t kTensorNameBytesMax = 256;

/// The least multiple of commit::kChunkBytes that is at least `size_bytes`.
[[nodiscard]] constexpr std::uint64_t whole_chunks(std::uint64_t size_bytes) {
    return (size_bytes + commit::kChunkBytes - 1) / commit::kChunkBytes * commit::kChunkBytes;
}

[[nodiscard]] inline bool is_all_zeros(ByteView bytes) {
    return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

/// The number of tensors, and each without its bytes. @errors kMalformed, kOutOfRange.
[[nodiscard]] Result<StateLayout> decode_tensor_headers(commit::Decoder& decoder);

/// @errors kOutOfRange beyond kStateBytesMax.
[[nodiscard]] Result<std::uint64_t> tensor_size_bytes(commit::DType dtype,
                                                      std::span<const std::uint64_t> dims);

}  // namespace gym::engine
