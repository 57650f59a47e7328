#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gym/common/amount.hpp"

/// Amounts that may be unknown, and times of contracts, as text for people. An unknown amount never
/// counts as 0.
namespace gym::app {

/// The sum; absent if one is unknown, or if it is too large.
[[nodiscard]] std::optional<Amount> sum_of(const std::optional<Amount>& a,
                                           const std::optional<Amount>& b);
/// "12.5", or "unknown".
[[nodiscard]] std::string tokens_text(const std::optional<Amount>& amount);
/// The time of a contract, in UTC, or the end of the year 9999 if that is earlier.
[[nodiscard]] std::string contract_time_text(std::uint64_t unix_s);

}  // namespace gym::app
