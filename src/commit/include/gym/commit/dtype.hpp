#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gym/common/result.hpp"

namespace gym::commit {

/// The element type of a tensor. The numbers are hashed into tensor roots and never change.
enum class DType : std::uint8_t {
    kF32 = 1,
    kI32 = 2,
    kI64 = 3,
    kI16 = 4,
    kU8 = 5,
    kU16 = 6,
    kU32 = 7
};

/// Bytes of one element. `dtype` must be one of the enumerators.
[[nodiscard]] std::size_t size_bytes(DType dtype);
/// "f32", "i32", ...
[[nodiscard]] std::string_view to_string(DType dtype);
/// @errors kMalformed for a number that names no dtype.
[[nodiscard]] Result<DType> dtype_from(std::uint8_t code);
/// @errors kMalformed for a text that names no dtype.
[[nodiscard]] Result<DType> dtype_from(std::string_view name);

}  // namespace gym::commit
