#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>

#include "gym/common/result.hpp"

namespace gym::app {

/// Of one request, unless it says otherwise.
inline constexpr std::uint32_t kApiTimeoutMs = 10'000;

/// GET of `path` ("/v1/accounts/0x..") at a gym-api ("http(s)://host:port"). One request, bounded
/// time and size. @errors kInvalidArgument for another kind of URL; kUnavailable when nobody
/// answers; kNotFound; kInternal with the problem's title for another status; kMalformed /// that is not JSON. With an API key, if one is given, and the errors of api_post().
[[nodiscard]] Result<boost::json::value> api_get(const std::string& url, const std::string& path,
                                                 const std::string& api_key = {});

/// The same, byte for byte as it was sent: for answers whose hash counts.
[[nodiscard]] Result<std::string> api_get_text(const std::string& url, const std::string& path,
                                               const std::string& api_key = {});

struct ApiPost {
    std::string path;          ///< "/v1/jobs"
    std::string content_type;  ///< "application/yaml"
    std::string api_key;
    std::string idempotency_key;  ///< empty: none
    std::string body;
    std::uint32_t timeout_ms = kApiTimeoutMs;
};
/// The same for a POST; the answer to a success of any kind. @errors as api_get, with the problem's
/// detail; kUnauthenticated, kPermissionDenied, kConflict, kInsufficientFunds, kInvalidArgument by
/// status.
[[nodiscard]] Result<boost::json::value> api_post(const std::string& url, const ApiPost& post);

}  // namespace gym::app
