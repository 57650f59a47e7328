#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "gym/common/amount.hpp"

/// Members of gym-api's answers as text for people.
namespace gym::app {

/// A string as it is, "-" for null, JSON for all else.
[[nodiscard]] std::string text_of(const boost::json::value& value);
/// The same of a member; it throws where the member is missing.
[[nodiscard]] std::string text_of(const boost::json::object& object, std::string_view key);

/// A decimal string of wei; absent for anything else. An unknown amount must never count as 0.
[[nodiscard]] std::optional<Amount> amount_of(const boost::json::value& wei);
/// The sum; absent if one is unknown, or if it is too large.
[[nodiscard]] std::optional<Amount> sum_of(const std::optional<Amount>& a,
                                           const std::optional<Amount>& b);

/// "12.5", or "unknown".
[[nodiscard]] std::string tokens_text(const std::optional<Amount>& amount);
[[nodiscard]] std::string tokens_of(const boost::json::value& wei);

}  // namespace gym::app
