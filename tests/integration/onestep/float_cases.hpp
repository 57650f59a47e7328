#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <vector>

namespace gym::testing {

/// The domain of a function, and so where its hard cases lie.
enum class CaseKind {
    kOne,      ///< any f32
    kInteger,  ///< an f32 that is to become an integer: halves, limits of i32 and i64
    kWords,    ///< the high and the low word of an i64
    kSum,      ///< two f32: equal, opposite, neighbours, far apart
    kProduct,  ///< two f32: results at both ends of the range
    kFma,      ///< three: products that c almost cancels, c far below or above
    kScale,    ///< an f32 and an i32
};

/// Bit patterns where rounding, cancellation, overflow and subnormals are at home.
class FloatCases {
  public:
    explicit FloatCases(std::uint64_t seed) : rng_(seed) {}

    [[nodiscard]] std::vector<std::array<std::uint32_t, 3>> make(CaseKind kind, std::size_t count) {
        std::vector<std::array<std::uint32_t, 3>> cases;
        for (std::size_t i = 0; i < count; ++i)
            cases.push_back(one(kind));
        return cases;
    }

    /// Any f32 bits, the special ones often.
    [[nodiscard]] std::uint32_t any() {
        const std::uint32_t word = bits(), sign = word & 0x80000000U;
        switch (below(10)) {
            case 0:
                return sign | kSpecial[below(kSpecial.size())];
            case 1:  // subnormal, of any length
                return sign | ((word & 0x7FFFFFU) >> below(23));
            case 2:  // around a power of two
                return sign | (((1 + below(254)) << 23) + below(5) - 2);
            case 3:  // few bits set: ties
                return sign | (below(255) << 23) | (word & 0x7FFFFFU & bits() & bits());
            case 4:
            case 5:
            case 6:  // where functions bend
                return sign | ((112 + below(30)) << 23) | (word & 0x7FFFFFU);
            default:
                return word;
        }
    }

  private:
    static constexpr std::array<std::uint32_t, 18> kSpecial{
        0,          0x7F800000, 0x7FC00000, 0x7F800001, 0x7FFFFFFF, 1,
        0x007FFFFF, 0x00800000, 0x00800001, 0x7F7FFFFF, 0x3F800000, 0x3F800001,
        0x3F7FFFFF, 0x4B000000, 0x4B800000, 0x34000000, 0x33800000, 0x41800000};

    std::uint32_t bits() { return static_cast<std::uint32_t>(rng_()); }
    std::uint32_t below(std::size_t n) { return static_cast<std::uint32_t>(rng_() % n); }

    /// A number that differs from `x` by little, or by a factor of about 2^n.
    std::uint32_t near(std::uint32_t x) {
        const std::uint32_t moved = x + (below(61) << 23) - (30U << 23);
        switch (below(5)) {
            case 0:
                return x ^ 0x80000000U;
            case 1:
                return (x ^ (bits() & 0x80000000U)) + below(7) - 3;
            case 2:
                return moved ^ (bits() & 0x807FFFFFU & bits() & bits());
            case 3:
                return moved ^ (bits() & 0x80000000U);
            default:
                return moved ^ (bits() & 0x807FFFFFU);
        }
    }

    std::uint32_t half_integer() {
        // An integer of up to 2^63 in steps of a half, or a neighbour of one.
        const auto value = static_cast<float>(rng_() >> (1 + below(63))) + (below(2) ? 0.5F : 0.0F);
        return (std::bit_cast<std::uint32_t>(value) + (below(4) == 0 ? below(3) - 1 : 0)) ^
               (bits() & 0x80000000U);
    }

    /// b such that a * b, or a / b, is near the ends of the range or of a normal size.
    std::uint32_t partner(std::uint32_t a) {
        const std::uint32_t field = (a >> 23) & 0xFFU;
        const std::uint32_t wanted = below(2) == 0 ? 127 + 127 - field : field;
        const std::uint32_t shift = below(3) == 0 ? 0 : 100 + below(60);
        const std::uint32_t exponent = (wanted + (below(2) == 0 ? shift : 512 - shift)) & 0xFFU;
        return (bits() & 0x807FFFFFU) | (exponent << 23);
    }

    /// c near -(a * b), or anything.
    std::uint32_t third(std::uint32_t a, std::uint32_t b) {
        const float product = std::bit_cast<float>(a) * std::bit_cast<float>(b);
        const std::uint32_t rounded = std::bit_cast<std::uint32_t>(product);
        return below(3) == 0 ? any() : near(rounded);
    }

    std::array<std::uint32_t, 3> one(CaseKind kind) {
        const std::uint32_t a = any();
        switch (kind) {
            case CaseKind::kInteger:
                return {below(3) == 0 ? a : half_integer(), 0, 0};
            case CaseKind::kWords: {
                const std::uint64_t word = rng_() >> below(64);
                const std::uint64_t value = below(2) == 0 ? word : word & rng_() & rng_();
                const std::uint64_t negated = below(2) == 0 ? value : 0 - value;
                return {static_cast<std::uint32_t>(negated >> 32),
                        static_cast<std::uint32_t>(negated), 0};
            }
            case CaseKind::kSum:
                return {a, below(3) == 0 ? any() : near(a), 0};
            case CaseKind::kProduct:
                return {a, below(2) == 0 ? any() : partner(a), 0};
            case CaseKind::kFma: {
                const std::uint32_t b = below(2) == 0 ? any() : partner(a);
                return {a, b, third(a, b)};
            }
            case CaseKind::kScale:
                return {a, below(8) == 0 ? bits() : below(700) - 350, 0};
            case CaseKind::kOne:
                break;
        }
        return {a, 0, 0};
    }

    std::mt19937_64 rng_;
};

}  // namespace gym::testing
