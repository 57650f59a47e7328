#include "gym/quality/usefulness.hpp"

#include <array>
#include <compare>
#include <string>

#include "gym/quality/novelty.hpp"

namespace gym::quality {
namespace {

__extension__ using Wide = unsigned __int128;

/// A whole number of 2^-149. The largest binary32 is below 2^128, that is 277 bits; 20 more for a
/// factor of 10^6.
struct Fixed {
    static constexpr std::size_t kWords = 5;
    std::array<std::uint64_t, kWords> words{};  ///< the lowest first

    friend std::strong_ordering operator<=>(const Fixed& a, const Fixed& b) {
        for (std::size_t i = kWords; i-- > 0;)
            if (a.words[i] != b.words[i]) return a.words[i] <=> b.words[i];
        return std::strong_ordering::equal;
    }
    friend bool operator==(const Fixed&, const Fixed&) = default;
};

constexpr std::uint32_t kMantissaBits = 23;
constexpr std::uint32_t kExponentMax = 255;

Result<Fixed> decode(std::uint32_t bits, const std::string& name) {
    const std::uint32_t exponent = bits >> kMantissaBits & kExponentMax;
    const std::uint64_t fraction = bits & ((1U << kMantissaBits) - 1);
    if (exponent == kExponentMax)
        return fail(ErrorCode::kInvalidArgument, "the loss '" + name + "' is not finite");
    const bool is_zero = exponent == 0 && fraction == 0;
    if (bits >> 31 != 0 && !is_zero)
        return fail(ErrorCode::kOutOfRange, "the loss '" + name + "' is negative");
    // Subnormal numbers have the exponent of the least normal one, without its leading bit.
    const std::uint64_t mantissa = exponent == 0 ? fraction : fraction | 1U << kMantissaBits;
    const std::uint32_t shift = exponent == 0 ? 0 : exponent - 1;
    Fixed out;
    const Wide placed = Wide{mantissa} << shift % 64;
    out.words[shift / 64] = static_cast<std::uint64_t>(placed);
    if (shift / 64 + 1 < Fixed::kWords)
        out.words[shift / 64 + 1] = static_cast<std::uint64_t>(placed >> 64);
    return out;
}

/// a - b; a must not be smaller.
Fixed minus(const Fixed& a, const Fixed& b) {
    Fixed out;
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < Fixed::kWords; ++i) {
        const Wide need = Wide{b.words[i]} + borrow;
        borrow = a.words[i] < need ? 1 : 0;
        out.words[i] = a.words[i] - static_cast<std::uint64_t>(need);
    }
    GYM_ASSERT(borrow == 0, "a difference below zero");
    return out;
}

/// a * factor; the callers' differences leave room for 10^6.
Fixed times(const Fixed& a, std::uint32_t factor) {
    Fixed out;
    Wide carry = 0;
    for (std::size_t i = 0; i < Fixed::kWords; ++i) {
        carry += Wide{a.words[i]} * factor;
        out.words[i] = static_cast<std::uint64_t>(carry);
        carry >>= 64;
    }
    GYM_ASSERT(carry == 0, "a product of more than 320 bits");
    return out;
}

/// floor(10^6 * part / whole) for part < whole, by bisection: 20 products instead of a division of
/// 320-bit numbers.
std::uint32_t share_ppm(const Fixed& part, const Fixed& whole) {
    const Fixed scaled = times(part, kPpm);
    std::uint32_t low = 0, high = kPpm;
    while (high - low > 1) {
        const std::uint32_t middle = low + (high - low) / 2;
        (times(whole, middle) <= scaled ? low : high) = middle;
    }
    return low;
}

}  // namespace

Result<std::uint32_t> usefulness_ppm(const LossBits& losses) {
    GYM_TRY(const Fixed before, decode(losses.before, "before"));
    GYM_TRY(const Fixed after, decode(losses.after, "after"));
    GYM_TRY(const Fixed baseline, decode(losses.baseline, "baseline"));
    if (after >= before) return std::uint32_t{0};
    // Also where the reference brings nothing.
    if (after <= baseline) return kPpm;
    return share_ppm(minus(before, after), minus(before, baseline));
}

Result<std::uint32_t> quality_ppm(std::uint32_t novelty_ppm, std::uint32_t usefulness_ppm) {
    if (novelty_ppm > kPpm || usefulness_ppm > kPpm)
        return fail(ErrorCode::kOutOfRange, "novelty " + std::to_string(novelty_ppm) +
                                                " or usefulness " + std::to_string(usefulness_ppm) +
                                                " is above 1000000 ppm");
    return static_cast<std::uint32_t>(std::uint64_t{novelty_ppm} * usefulness_ppm / kPpm);
}

}  // namespace gym::quality
