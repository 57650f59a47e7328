#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "gym/common/result.hpp"

namespace gym::app {

/// GET of `path` ("/v1/accounts/0x..") at a gym-api ("http://host:port"). One request, bounded time
/// and size. @errors kInvalidArgument for another kind of URL; kUnavailable when nobody answers;
/// kNotFound; kInternal with the problem's title for another status; kMalformed for a body that is
/// no JSON.
[[nodiscard]] Result<boost::json::value> api_get(const std::string& url, const std::string& path);

}  // namespace gym::app
