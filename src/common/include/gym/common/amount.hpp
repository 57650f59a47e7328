#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym {

/// An unsigned 256-bit count of a token's base units (wei). Every operation is checked: what would
/// overflow or fall below zero is an error, never a wrapped number. No floating point.
class Amount {
  public:
    constexpr Amount() = default;
    constexpr explicit Amount(std::uint64_t base_units) : limbs_{base_units, 0, 0, 0} {}

    /// Decimal digits only; leading zeros are accepted, signs and exponents are not.
    /// @errors kMalformed for other text, kOutOfRange at 2^256 and above.
    static Result<Amount> parse(std::string_view decimal);
    /// `tokens` as a decimal number with at most `decimals` fractional digits ("12.5" -> 12.5 *
    /// 10^18).
    /// @errors kMalformed, kOutOfRange.
    static Result<Amount> parse_tokens(std::string_view tokens, unsigned decimals = 18);
    /// Big-endian, as the EVM stores a uint256.
    static Amount from_be32(const std::array<std::uint8_t, 32>& bytes);

    [[nodiscard]] std::string to_string() const;
    /// Decimal tokens without trailing zeros ("12.5").
    [[nodiscard]] std::string to_tokens(unsigned decimals = 18) const;
    [[nodiscard]] std::array<std::uint8_t, 32> to_be32() const;
    /// @errors kOutOfRange at 2^64 and above.
    [[nodiscard]] Result<std::uint64_t> to_u64() const;
    [[nodiscard]] constexpr bool is_zero() const { return limbs_ == decltype(limbs_){}; }

    /// @errors kOutOfRange on overflow.
    [[nodiscard]] Result<Amount> plus(const Amount& other) const {
        Amount out;
        bool carry = false;
        for (std::size_t i = 0; i < limbs_.size(); ++i) {
            std::uint64_t sum = 0;
            const bool over = __builtin_add_overflow(limbs_[i], other.limbs_[i], &sum);
            carry = __builtin_add_overflow(sum, std::uint64_t{carry}, &out.limbs_[i]) || over;
        }
        if (carry) return too_large();
        return out;
    }
    /// @errors kOutOfRange below zero.
    [[nodiscard]] Result<Amount> minus(const Amount& other) const;
    /// floor(this * numerator / denominator) through a 512-bit product.
    /// @errors kInvalidArgument for a zero denominator, kOutOfRange if the quotient does not fit.
    [[nodiscard]] Result<Amount> mul_div(const Amount& numerator, const Amount& denominator) const;
    /// this * numerator mod denominator, the remainder that mul_div drops.
    [[nodiscard]] Result<Amount> mul_mod(const Amount& numerator, const Amount& denominator) const;

    friend constexpr bool operator==(const Amount&, const Amount&) = default;
    friend constexpr std::strong_ordering operator<=>(const Amount& a, const Amount& b) {
        for (int i = 3; i >= 0; --i)
            if (a.limbs_[i] != b.limbs_[i]) return a.limbs_[i] <=> b.limbs_[i];
        return std::strong_ordering::equal;
    }

  private:
    friend struct AmountAccess;
    static Error too_large();
    [[nodiscard]] constexpr bool is_small() const {
        return (limbs_[1] | limbs_[2] | limbs_[3]) == 0;
    }
    std::array<std::uint64_t, 4> limbs_{};  // little-endian
};

}  // namespace gym
