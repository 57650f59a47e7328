#pragma once

#include <string_view>

namespace gym::registry {

/// What the reason of a paused job begins with where money, or a smaller job, would end the pause.
/// Other pauses are the owner's, or of a model that cannot be trusted, and end by gym job resume.
inline constexpr std::string_view kBudgetPause = "budget: ";
inline constexpr std::string_view kSizePause = "size: ";

/// Whether add_budget() ends a pause for this reason. Pure.
[[nodiscard]] constexpr bool ends_with_money(std::string_view reason) {
    return reason.starts_with(kBudgetPause) || reason.starts_with(kSizePause);
}

}  // namespace gym::registry
