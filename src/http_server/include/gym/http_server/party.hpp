#pragma once

#include <string>

namespace gym::http_server {

/// Whom an IP address belongs to, for bounds by peer: of IPv6 its /64, which is what a home has; of
/// an IPv4 address in IPv6 that address. Any other text is returned as it is.
[[nodiscard]] std::string party_of(const std::string& address);

}  // namespace gym::http_server
