#include "cli/amount_text.hpp"

namespace gym::app {

std::optional<Amount> sum_of(const std::optional<Amount>& a, const std::optional<Amount>& b) {
    if (!a || !b) return std::nullopt;
    const auto sum = a->plus(*b);
    return sum.ok() ? std::optional(*sum) : std::nullopt;
}

std::string tokens_text(const std::optional<Amount>& amount) {
    return amount ? amount->to_tokens() : "unknown";
}

}  // namespace gym::app
