#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gym/common/result.hpp"

namespace gym::wan {

/// A machine at the end of a line: one address in one network namespace.
struct Host {
    std::string name;
    std::string region;
    std::string netns;          ///< as `ip netns add` made it
    std::uint32_t address = 0;  ///< IPv4, in the host's byte order
    std::uint64_t up_bits_per_s = 0;
    std::uint64_t down_bits_per_s = 0;

    friend bool operator==(const Host&, const Host&) = default;
};

/// Loss of packets, in parts per million.
struct Loss {
    std::uint32_t inside_ppm = 0;   ///< between hosts of one region
    std::uint32_t between_ppm = 0;  ///< between regions

    friend bool operator==(const Loss&, const Loss&) = default;
};

/// A network of hosts. Delays are of one direction: a ping takes twice as long.
struct Plan {
    std::uint64_t inside_delay_us = 0;
    std::uint64_t between_delay_us = 0;
    Loss loss;
    std::uint64_t queue_bytes = 0;  ///< in front of each direction of each line; more is dropped
    std::uint64_t seed = 0;         ///< which packets are lost follows from it and their number
    std::vector<Host> hosts;
};

inline constexpr std::size_t kHostsMax = 256;
inline constexpr std::uint32_t kPpm = 1'000'000;

/// A plan as YAML: inside_delay_us, between_delay_us, inside_loss_ppm, between_loss_ppm,
/// queue_bytes, seed, and `hosts`, each with name, region, netns, address, up_kbit_per_s and
/// down_kbit_per_s. @errors kInvalidArgument naming the key.
[[nodiscard]] Result<Plan> parse_plan(const std::string& text, const std::string& origin);

/// "10.77.0.1". @errors kInvalidArgument.
[[nodiscard]] Result<std::uint32_t> parse_address(const std::string& text);

}  // namespace gym::wan
