#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/delta.hpp"
#include "gym/program/program.hpp"

/// What makes bytes a delta of a program.
namespace gym::engine {

inline constexpr std::string_view kDeltaMagic = "GYMDLTA1";
inline constexpr std::uint64_t kDeltaHeadBytes = 16;  ///< magic, codec u32, number of tensors u32

/// The first kDeltaHeadBytes of every delta of so many tensors.
[[nodiscard]] Bytes delta_head(program::DeltaCodec codec, std::size_t tensors);

/// Whether a blob is a delta of the layout's codec, of as many tensors and bytes.
/// @param head its first kDeltaHeadBytes, or all it has.
/// @errors kMalformed; kShapeMismatch for another number of tensors.
[[nodiscard]] Status check_delta_form(const DeltaLayout& layout, ByteView head,
                                      std::uint64_t size_bytes);

/// Whether bytes of a delta are what an encoder may write: no NaN that no op produces, no row that
/// no encoder writes, zeros beside the rows.
/// @param piece begins and ends at multiples of 1,024, or with the blob.
/// @errors kMalformed, naming the parameter.
[[nodiscard]] Status check_delta_bytes(const program::Program& train, const DeltaLayout& layout,
                                       const DeltaBytes& piece);

}  // namespace gym::engine
