#pragma once

#include <optional>
#include <string>

#include "gym/common/amount.hpp"

/// Amounts that may be unknown, as text for people. An unknown amount never counts as 0.
namespace gym::app {

/// The sum; absent if one is unknown, or if it is too large.
[[nodiscard]] std::optional<Amount> sum_of(const std::optional<Amount>& a,
                                           const std::optional<Amount>& b);
/// "12.5", or "unknown".
[[nodiscard]] std::string tokens_text(const std::optional<Amount>& amount);

}  // namespace gym::app
