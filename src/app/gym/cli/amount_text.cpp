#include "cli/amount_text.hpp"

#include <algorithm>

#include "gym/common/clock.hpp"

namespace gym::app {

std::optional<Amount> sum_of(const std::optional<Amount>& a, const std::optional<Amount>& b) {
    if (!a || !b) return std::nullopt;
    const auto sum = a->plus(*b);
    return sum.ok() ? std::optional(*sum) : std::nullopt;
}

std::string tokens_text(const std::optional<Amount>& amount) {
    return amount ? amount->to_tokens() : "unknown";
}

std::string contract_time_text(std::uint64_t unix_s) {
    constexpr std::uint64_t kYear9999S = 253'402'300'799;  // the contract's number may be any
    return utc_text(static_cast<UnixMs>(std::min(unix_s, kYear9999S)) * 1'000);
}

}  // namespace gym::app
