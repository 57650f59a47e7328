#pragma once

#include <string_view>

#include "gym/common/result.hpp"
#include "gym/http_server/handler.hpp"

namespace gym::http_server {

/// The HTTP status for a failure of this kind.
[[nodiscard]] unsigned http_status(ErrorCode code) noexcept;

/// An RFC 9457 problem+json response: type "urn:gym:problem:<code>", title, status, detail,
/// request_id. Details of internal failures (kInternal, kIo, kUnavailable) are not sent to clients.
[[nodiscard]] Response problem(const Error& error, std::string_view request_id);
[[nodiscard]] Response problem(unsigned status, std::string_view code, std::string_view detail,
                               std::string_view request_id);

/// The standard phrase of a status ("Not Found").
[[nodiscard]] std::string_view phrase(unsigned status) noexcept;

}  // namespace gym::http_server
