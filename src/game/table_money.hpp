#pragma once

#include "gym/common/amount.hpp"
#include "gym/common/assert.hpp"
#include "gym/common/ppm.hpp"

/// Sums whose results are known to fit.
namespace gym::game::money {

inline Amount must(const Result<Amount>& sum) {
    GYM_ASSERT(sum.ok(), "amounts are below 2^256 and not below zero");
    return *sum;
}
inline void add(Amount& to, const Amount& amount) {
    to = must(to.plus(amount));
}
inline void subtract(Amount& from, const Amount& amount) {
    from = must(from.minus(amount));
}
inline Amount difference(const Amount& a, const Amount& b) {
    return must(a.minus(b));
}
inline Amount product(std::uint64_t a, std::uint64_t b) {
    return must(Amount(a).mul_div(Amount(b), Amount(1)));
}
/// Rounded down.
inline Amount share(const Amount& amount, std::uint64_t numerator, std::uint64_t denominator) {
    return must(amount.mul_div(Amount(numerator), Amount(denominator)));
}
/// @errors kInsufficientFunds.
inline Status take(Amount& from, const Amount& amount) {
    if (from < amount)
        return fail(
            ErrorCode::kInsufficientFunds,
            "the account has " + from.to_string() + " where " + amount.to_string() + " are needed");
    subtract(from, amount);
    return {};
}

}  // namespace gym::game::money
