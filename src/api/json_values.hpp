#pragma once

#include <boost/json/value.hpp>
#include <cmath>
#include <optional>
#include <string>

#include "gym/common/bytes.hpp"
#include "gym/registry/visibility.hpp"

namespace gym::api {

template <class T>
boost::json::value or_null(const std::optional<T>& value) {
    return value ? boost::json::value(*value) : boost::json::value(nullptr);
}
template <std::size_t N, class Tag>
boost::json::value or_null(const std::optional<FixedBytes<N, Tag>>& value) {
    return value ? boost::json::value(value->hex()) : boost::json::value(nullptr);
}
inline boost::json::value or_null(const std::string& text) {
    return text.empty() ? boost::json::value(nullptr) : boost::json::value(text);
}
inline boost::json::value number_or_null(const std::optional<double>& value) {
    // JSON knows neither NaN nor infinity; a diverged loss is shown as unknown.
    return value && std::isfinite(*value) ? boost::json::value(*value)
                                          : boost::json::value(nullptr);
}

/// Whom an owner lets see something is the owner's to know.
inline boost::json::array allowed_json(const registry::Access& access, const Address& owner,
                                       const registry::Viewer& viewer) {
    boost::json::array out;
    if (viewer.address() != owner) return out;
    for (const Address& account : access.allowed)
        out.emplace_back(account.hex());
    return out;
}

}  // namespace gym::api
