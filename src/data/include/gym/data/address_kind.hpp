#pragma once

#include <string>

namespace gym::data {

/// Where the server of an address is, as seen from this machine: the nearer, the less it expects
/// strangers.
enum class AddressKind {
    kInternet,
    kPrivate,    ///< a network like 10.0.0.0/8, fc00::/7, or that of a provider (100.64.0.0/10)
    kLinkLocal,  ///< 169.254.0.0/16, fe80::/10: a cloud's service for keys of this machine is there
    kThisMachine,  ///< 127.0.0.0/8, ::1, 0.0.0.0/8, ::
};

/// @param address of IPv4 or IPv6, as text; an IPv4 address within one of IPv6 counts as itself.
/// What is no address is nearest.
[[nodiscard]] AddressKind kind_of_address(const std::string& address);

}  // namespace gym::data
