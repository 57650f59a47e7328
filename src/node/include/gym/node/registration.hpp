#pragma once

#include <cstdint>
#include <string>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/node/node_config.hpp"
#include "gym/records/node.hpp"

namespace gym::node {

struct RegisterOptions {
    records::NodeRole role = records::NodeRole::kWorker;
    std::string device;  ///< the name to register it under; empty: the device's own
    std::uint64_t memory_bytes = 0;
};

struct Registration {
    Address address;
    bool key_created = false;
    bool is_new = false;
    std::uint64_t flops_per_second = 0;
    std::int64_t round_trip_ms = 0;
};

/// Registers the node with the coordinator. Checks the hardware, tests the network, creates the key
/// if there is none, runs the benchmark and registers, in this order: nothing is created, measured
/// or sent before the cheaper check passed.
[[nodiscard]] Result<Registration> register_node(const NodeConfig& config,
                                                 const RegisterOptions& options);

/// Tells the coordinator that the node is leaving. Best effort: the coordinator also notices the
/// missing heartbeats.
void leave_network(const NodeConfig& config, const crypto::PrivateKey& key, const Clock& clock);

}  // namespace gym::node
