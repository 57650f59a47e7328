#include "gym/data/address_kind.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace gym::data {
namespace {

using Bytes4 = std::array<std::uint8_t, 4>;
using Bytes16 = std::array<std::uint8_t, 16>;

AddressKind kind_of(const Bytes4& ip) {
    if (ip[0] == 0 || ip[0] == 127) return AddressKind::kThisMachine;
    if (ip[0] == 169 && ip[1] == 254) return AddressKind::kLinkLocal;
    const bool is_private = ip[0] == 10 || (ip[0] == 172 && ip[1] >= 16 && ip[1] < 32) ||
                            (ip[0] == 192 && ip[1] == 168) ||
                            (ip[0] == 100 && ip[1] >= 64 && ip[1] < 128);
    return is_private ? AddressKind::kPrivate : AddressKind::kInternet;
}

/// The IPv4 address in the last bytes.
Bytes4 last_of(const Bytes16& ip) {
    Bytes4 out{};
    std::copy(ip.begin() + 12, ip.end(), out.begin());
    return out;
}

bool begins_with(const Bytes16& ip, const auto& prefix) {
    return std::equal(prefix.begin(), prefix.end(), ip.begin());
}

AddressKind kind_of(const Bytes16& ip) {
    constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    constexpr std::array<std::uint8_t, 12> kTranslated{0, 0x64, 0xff, 0x9b};  // 64:ff9b::/96
    constexpr std::array<std::uint8_t, 12> kZeros{};
    // ::1 and :: are 0.0.0.1 and 0.0.0.0.
    if (begins_with(ip, kMapped) || begins_with(ip, kTranslated) || begins_with(ip, kZeros))
        return kind_of(last_of(ip));
    if (ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80) return AddressKind::kLinkLocal;
    return (ip[0] & 0xfe) == 0xfc ? AddressKind::kPrivate : AddressKind::kInternet;
}

}  // namespace

AddressKind kind_of_address(const std::string& address) {
    Bytes4 v4{};
    if (::inet_pton(AF_INET, address.c_str(), v4.data()) == 1) return kind_of(v4);
    Bytes16 v6{};
    const std::string plain = address.substr(0, address.find('%'));
    if (::inet_pton(AF_INET6, plain.c_str(), v6.data()) == 1) return kind_of(v6);
    return AddressKind::kThisMachine;
}

}  // namespace gym::data
