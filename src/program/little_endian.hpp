#pragma once

#include <bit>
#include <vector>

#include "gym/common/bytes.hpp"

namespace gym::program {

/// Tensor contents of f32 or i32 values.
template <class T>
[[nodiscard]] Bytes little_endian(const std::vector<T>& values) {
    static_assert(sizeof(T) == 4);
    Bytes out;
    out.reserve(values.size() * 4);
    for (const T value : values) {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        for (unsigned shift = 0; shift < 32; shift += 8)
            out.push_back(static_cast<std::uint8_t>(bits >> shift));
    }
    return out;
}

/// The f32 element `index` of tensor contents.
[[nodiscard]] inline float f32_at(ByteView bytes, std::size_t index) {
    std::uint32_t bits = 0;
    for (unsigned i = 0; i < 4; ++i)
        bits |= std::uint32_t{bytes[4 * index + i]} << (8 * i);
    return std::bit_cast<float>(bits);
}

}  // namespace gym::program
