// What single PTX instructions compute (PTX ISA 9.0, "Instruction Set").
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ptx_values.hpp"

namespace gym::ptx {

/// Integer arithmetic wraps.
template <typename T>
using Unsigned = std::make_unsigned_t<T>;

struct Add {
    template <typename T>
    T operator()(T a, T b) const {
        if constexpr (std::is_same_v<T, float>)
            return device_nan(a + b);
        else
            return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
    }
};
struct Subtract {
    template <typename T>
    T operator()(T a, T b) const {
        if constexpr (std::is_same_v<T, float>)
            return device_nan(a - b);
        else
            return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
    }
};
struct Multiply {
    template <typename T>
    T operator()(T a, T b) const {
        if constexpr (std::is_same_v<T, float>)
            return device_nan(a * b);
        else
            return static_cast<T>(std::uint64_t{static_cast<Unsigned<T>>(a)} *
                                  static_cast<Unsigned<T>>(b));
    }
};
struct Divide {
    template <typename T>
    T operator()(T a, T b) const {
        if constexpr (std::is_same_v<T, float>)
            return device_nan(a / b);
        else
            return b == 0 ? static_cast<T>(-1) : static_cast<T>(a / b);
    }
};
struct Remainder {
    template <typename T>
    T operator()(T a, T b) const {
        return b == 0 ? a : static_cast<T>(a % b);
    }
};
struct MultiplyHigh {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
        return static_cast<std::uint32_t>((std::uint64_t{a} * b) >> 32U);
    }
    std::int32_t operator()(std::int32_t a, std::int32_t b) const {
        return static_cast<std::int32_t>((std::int64_t{a} * b) >> 32);
    }
};
struct Minimum {
    template <typename T>
    T operator()(T a, T b) const {
        return a < b ? a : b;
    }
};
struct Maximum {
    template <typename T>
    T operator()(T a, T b) const {
        return a > b ? a : b;
    }
};
struct And {
    template <typename T>
    T operator()(T a, T b) const {
        return static_cast<T>(a & b);
    }
};
struct Or {
    template <typename T>
    T operator()(T a, T b) const {
        return static_cast<T>(a | b);
    }
};
struct Xor {
    template <typename T>
    T operator()(T a, T b) const {
        return static_cast<T>(a ^ b);
    }
};
struct Not {
    template <typename T>
    T operator()(T a) const {
        if constexpr (std::is_same_v<T, bool>)
            return !a;
        else
            return static_cast<T>(~a);
    }
};
struct Negate {
    template <typename T>
    T operator()(T a) const {
        if constexpr (std::is_same_v<T, float>)
            return std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) ^ 0x8000'0000U);
        else
            return static_cast<T>(0 - static_cast<Unsigned<T>>(a));
    }
};
struct Absolute {
    template <typename T>
    T operator()(T a) const {
        return a < 0 ? Negate()(a) : a;
    }
};
struct MultiplyAdd {
    template <typename T>
    T operator()(T a, T b, T c) const {
        if constexpr (std::is_same_v<T, float>)
            return device_nan(std::fma(a, b, c));
        else
            return Add()(Multiply()(a, b), c);
    }
};
struct SquareRoot {
    float operator()(float a) const { return device_nan(std::sqrt(a)); }
};
struct Reciprocal {
    float operator()(float a) const { return device_nan(1.0F / a); }
};
struct RoundToEven {
    float operator()(float a) const { return device_nan(std::nearbyint(a)); }
};
struct Truncate {
    std::int32_t operator()(float a) const {
        if (a != a) return 0;
        if (a >= 0x1p31F) return std::numeric_limits<std::int32_t>::max();
        if (a < -0x1p31F) return std::numeric_limits<std::int32_t>::min();
        return static_cast<std::int32_t>(a);
    }
};
/// Shifts beyond the width are clamped to it.
struct ShiftLeft {
    template <typename T>
    T operator()(T a, std::uint32_t by) const {
        return by >= sizeof(T) * 8 ? T{0} : static_cast<T>(static_cast<Unsigned<T>>(a) << by);
    }
};
struct ShiftRight {
    template <typename T>
    T operator()(T a, std::uint32_t by) const {
        constexpr std::uint32_t kBits = sizeof(T) * 8;
        if constexpr (std::is_signed_v<T>)
            return static_cast<T>(a >> (by < kBits ? by : kBits - 1));
        return by >= kBits ? T{0} : static_cast<T>(a >> by);
    }
};

/// Of two words, b above a, 32 bits; shifts are modulo 32.
inline std::uint32_t funnel_left(std::uint32_t a, std::uint32_t b, std::uint32_t by) {
    return static_cast<std::uint32_t>(((std::uint64_t{b} << 32U | a) << (by % 32)) >> 32U);
}
inline std::uint32_t funnel_right(std::uint32_t a, std::uint32_t b, std::uint32_t by) {
    return static_cast<std::uint32_t>((std::uint64_t{b} << 32U | a) >> (by % 32));
}

/// The low `length` bits of a at `position` of b.
inline std::uint32_t insert_bits(std::uint32_t a, std::uint32_t b, std::uint32_t position,
                                 std::uint32_t length) {
    position &= 0xFFU, length &= 0xFFU;
    if (position >= 32 || length == 0) return b;
    const std::uint32_t low = length >= 32 ? ~0U : (1U << length) - 1;
    return (b & ~(low << position)) | ((a & low) << position);
}
/// `length` bits from `position`, as unsigned.
inline std::uint32_t extract_bits(std::uint32_t a, std::uint32_t position, std::uint32_t length) {
    position &= 0xFFU, length &= 0xFFU;
    if (position >= 32 || length == 0) return 0;
    const std::uint32_t low = length >= 32 ? ~0U : (1U << length) - 1;
    return (a >> position) & low;
}

/// Each byte is one of the eight of b and a, or its sign.
inline std::uint32_t permute_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
    const std::uint64_t bytes = std::uint64_t{b} << 32U | a;
    std::uint32_t out = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const std::uint32_t choice = selector >> (4 * i) & 0xFU;
        std::uint32_t byte = static_cast<std::uint32_t>(bytes >> (8 * (choice & 7U))) & 0xFFU;
        if ((choice & 8U) != 0) byte = (byte & 0x80U) != 0 ? 0xFFU : 0;
        out |= byte << (8 * i);
    }
    return out;
}

/// Any function of three words, by its table.
inline std::uint32_t logic_of_three(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                    std::uint32_t table) {
    std::uint32_t out = 0;
    for (unsigned i = 0; i < 8; ++i) {
        if ((table >> i & 1U) == 0) continue;
        out |= ((i & 4U) != 0 ? a : ~a) & ((i & 2U) != 0 ? b : ~b) & ((i & 1U) != 0 ? c : ~c);
    }
    return out;
}

}  // namespace gym::ptx
