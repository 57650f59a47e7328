#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "gym/commit/codec.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/state.hpp"

/// The parts of an encoded state: a head, then a header and the bytes of each tensor.
namespace gym::engine {

inline constexpr std::uint32_t kStateTensorsMax = 1U << 16;
inline constexpr std::uint32_t kTensorNameBytesMax = 256;
inline constexpr std::size_t kStateHeadBytes = 8 + 4;  // magic, number of tensors

/// The number of tensors. @errors kMalformed, kOutOfRange.
[[nodiscard]] Result<std::uint32_t> decode_state_head(ByteView head);

void encode_tensor_header(commit::Encoder& encoder, const std::string& name, commit::DType dtype,
                          std::span<const std::uint64_t> dims);
/// A tensor without its bytes. @errors kMalformed, kOutOfRange.
[[nodiscard]] Result<StateTensor> decode_tensor_header(commit::Decoder& decoder);
/// How many bytes a header that begins with `begin` has at least: more than begin.size() until it
/// is whole.
[[nodiscard]] std::size_t tensor_header_bytes(ByteView begin);

/// @errors kOutOfRange beyond kStateBytesMax.
[[nodiscard]] Result<std::uint64_t> tensor_size_bytes(commit::DType dtype,
                                                      std::span<const std::uint64_t> dims);

}  // namespace gym::engine
