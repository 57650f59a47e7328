#include "gym/common/amount.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>

namespace gym {

namespace mp = boost::multiprecision;
using Wide = mp::uint1024_t;  // holds any product of two amounts without rounding
__extension__ using Small = unsigned __int128;

struct AmountAccess {
    static Wide widen(const Amount& amount) {
        Wide out = 0;
        for (int i = 3; i >= 0; --i)
            out = (out << 64) | amount.limbs_[static_cast<std::size_t>(i)];
        return out;
    }
    static Result<Amount> narrow(const Wide& wide) {
        if ((wide >> 256) != 0) return Amount::too_large();
        Amount out;
        for (unsigned i = 0; i < 4; ++i)
            out.limbs_[i] = static_cast<std::uint64_t>((wide >> (64 * i)) & ~std::uint64_t{0});
        return out;
    }
};

namespace {

constexpr std::size_t kDigitsMax = 78;  // of 2^256 - 1

bool all_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Result<Amount> Amount::parse(std::string_view decimal) {
    if (!all_digits(decimal))
        return fail(ErrorCode::kMalformed,
                    "'" + std::string(decimal.substr(0, 80)) + "' is not a whole decimal number");
    const std::size_t first = std::min(decimal.find_first_not_of('0'), decimal.size() - 1);
    decimal.remove_prefix(first);
    if (decimal.size() > kDigitsMax) return too_large();
    Wide wide = 0;
    for (const char c : decimal)
        wide = wide * 10 + static_cast<unsigned>(c - '0');
    return AmountAccess::narrow(wide);
}

Result<Amount> Amount::parse_tokens(std::string_view tokens, unsigned decimals) {
    const std::size_t dot = tokens.find('.');
    std::string digits(tokens.substr(0, dot));
    std::string fraction(dot == std::string_view::npos ? "" : tokens.substr(dot + 1));
    if (!all_digits(digits) || (dot != std::string_view::npos && !all_digits(fraction)))
        return fail(ErrorCode::kMalformed, "'" + std::string(tokens.substr(0, 80)) +
                                               "' is not an amount of GYM such as 12 or 12.5");
    if (fraction.size() > decimals)
        return fail(ErrorCode::kMalformed,
                    "a token has " + std::to_string(decimals) + " decimals, not more");
    fraction.resize(decimals, '0');
    return parse(digits + fraction);
}

Amount Amount::from_be32(const std::array<std::uint8_t, 32>& bytes) {
    Amount out;
    for (std::size_t i = 0; i < 32; ++i)
        out.limbs_[(31 - i) / 8] |= std::uint64_t{bytes[i]} << (8 * ((31 - i) % 8));
    return out;
}

std::string Amount::to_string() const {
    return AmountAccess::widen(*this).str();
}

std::string Amount::to_tokens(unsigned decimals) const {
    std::string digits = to_string();
    if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
    const std::size_t point = digits.size() - decimals;
    std::string fraction = digits.substr(point);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    return digits.substr(0, point) + (fraction.empty() ? "" : "." + fraction);
}

std::array<std::uint8_t, 32> Amount::to_be32() const {
    std::array<std::uint8_t, 32> out{};
    for (std::size_t i = 0; i < 32; ++i)
        out[i] = static_cast<std::uint8_t>(limbs_[(31 - i) / 8] >> (8 * ((31 - i) % 8)));
    return out;
}

Result<std::uint64_t> Amount::to_u64() const {
    if (limbs_[1] != 0 || limbs_[2] != 0 || limbs_[3] != 0)
        return fail(ErrorCode::kOutOfRange, "amount " + to_string() + " does not fit 64 bits");
    return limbs_[0];
}

Error Amount::too_large() {
    return fail(ErrorCode::kOutOfRange, "amount does not fit 256 bits");
}

Result<Amount> Amount::minus(const Amount& other) const {
    if (*this < other)
        return fail(ErrorCode::kOutOfRange,
                    to_string() + " - " + other.to_string() + " is below zero");
    Amount out;
    bool borrow = false;
    for (std::size_t i = 0; i < limbs_.size(); ++i) {
        std::uint64_t rest = 0;
        const bool under = __builtin_sub_overflow(limbs_[i], other.limbs_[i], &rest);
        borrow = __builtin_sub_overflow(rest, std::uint64_t{borrow}, &out.limbs_[i]) || under;
    }
    return out;
}

Result<Amount> Amount::mul_div(const Amount& numerator, const Amount& denominator) const {
    if (denominator.is_zero())
        return fail(ErrorCode::kInvalidArgument, "division of an amount by zero");
    if (is_small() && numerator.is_small() && denominator.is_small()) {
        const Small product = Small{limbs_[0]} * numerator.limbs_[0];
        const Small quotient = product / denominator.limbs_[0];
        Amount out(static_cast<std::uint64_t>(quotient));
        out.limbs_[1] = static_cast<std::uint64_t>(quotient >> 64);
        return out;
    }
    const Wide product = AmountAccess::widen(*this) * AmountAccess::widen(numerator);
    return AmountAccess::narrow(product / AmountAccess::widen(denominator));
}

Result<Amount> Amount::mul_mod(const Amount& numerator, const Amount& denominator) const {
    if (denominator.is_zero())
        return fail(ErrorCode::kInvalidArgument, "division of an amount by zero");
    const Wide product = AmountAccess::widen(*this) * AmountAccess::widen(numerator);
    return AmountAccess::narrow(product % AmountAccess::widen(denominator));
}

}  // namespace gym
