#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/node/node_config.hpp"
#include "gym/records/node.hpp"
#include "gym/rpc/coordinator.hpp"

namespace gym::node {

struct RegisterOptions {
    records::NodeRole role = records::NodeRole::kWorker;
    std::uint64_t memory_bytes = 0;  ///< to lend at most; 0: as NodeConfig::memory_bytes
    /// Told what the user should know, as it is found: less memory than asked for, missing money.
    /// May be empty.
    std::function<void(const std::string& note)> tell;
};

struct Registration {
    Address address;
    bool key_created = false;
    bool is_new = false;
    std::string device;              ///< its own name
    std::uint64_t lent_bytes = 0;    ///< of memory, at most
    std::uint64_t memory_bytes = 0;  ///< registered: of a GPU what is free of it now
    std::string missing;             ///< stake and gas to send, and where to; empty: nothing
    std::uint64_t flops_per_second = 0;
    std::int64_t round_trip_ms = 0;
};

/// Registers the node with the coordinator. Checks the hardware, tests the network, creates the key
/// if there is none, says which stake and gas are missing, runs the benchmark and registers, in
/// this order: nothing is created, measured or sent before the cheaper check passed. More memory
/// than there is counts as all that there is; of a GPU, what other programs have of it does not
/// count, or the node would be given units that its engine refuses. @errors also kConflict while
/// a node of this folder or key works on the GPU: its own memory is not free either.
[[nodiscard]] Result<Registration> register_node(const NodeConfig& config,
                                                 const RegisterOptions& options);

/// Tells the coordinator that the node is leaving. Best effort: the coordinator also notices the
/// missing heartbeats.
/// @param last called before it with the same connection, each call of which has two seconds; may
/// be empty.
void leave_network(const NodeConfig& config, const crypto::PrivateKey& key, const Clock& clock,
                   const std::function<void(rpc::Coordinator&)>& last = {});

}  // namespace gym::node
