#include "cli/answer_text.hpp"

#include <boost/json/serialize.hpp>

namespace gym::app {

std::string text_of(const boost::json::value& value) {
    if (value.is_null()) return "-";
    if (value.is_string()) return std::string(value.get_string());
    return boost::json::serialize(value);
}

std::string text_of(const boost::json::object& object, std::string_view key) {
    return text_of(object.at(key));
}

std::optional<Amount> amount_of(const boost::json::value& wei) {
    if (!wei.is_string()) return std::nullopt;
    const auto amount = Amount::parse(std::string(wei.get_string()));
    return amount.ok() ? std::optional(*amount) : std::nullopt;
}

std::optional<Amount> sum_of(const std::optional<Amount>& a, const std::optional<Amount>& b) {
    if (!a || !b) return std::nullopt;
    const auto sum = a->plus(*b);
    return sum.ok() ? std::optional(*sum) : std::nullopt;
}

std::string tokens_text(const std::optional<Amount>& amount) {
    return amount ? amount->to_tokens() : "unknown";
}

std::string tokens_of(const boost::json::value& wei) {
    return tokens_text(amount_of(wei));
}

}  // namespace gym::app
