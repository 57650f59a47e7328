#pragma once

#include <cstdint>
#include <string>

#include "gym/chain/client.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/node/node_config.hpp"
#include "gym/records/network.hpp"

namespace gym::node {

/// What a worker's address lacks before the network gives it units. All in wei.
struct Funding {
    Address address;
    std::uint64_t chain_id = 0;
    Amount stake;   ///< to add to its stake
    Amount tokens;  ///< to send to it: the part of `stake` that its wallet does not hold
    Amount ether;   ///< to send to it: gas for adding the stake and for one game

    [[nodiscard]] bool is_complete() const {
        return stake.is_zero() && tokens.is_zero() && ether.is_zero();
    }
};

/// Compares the address with the network's minimum stake and with the most that one game costs. A
/// worker that neither has stake nor needs one lacks nothing.
/// @errors as chain::ChainClient.
[[nodiscard]] Result<Funding> find_funding(chain::ChainClient& client, const NodeConfig& config,
                                           const records::NetworkDescription& network,
                                           const Address& self);

/// "send at least 100 tokens and 0.02 ether to 0x... on chain 1; then `gym stake add 100`"; empty
/// if nothing is missing. Ether is rounded up to six decimals.
/// @param options of the node's key for the command, such as " --data-dir DIR".
[[nodiscard]] std::string describe(const Funding& funding, const std::string& options);

/// The same for a node: asks its chain. Never fails: what could not be found out is said.
[[nodiscard]] std::string funding_advice(const NodeConfig& config,
                                         const records::NetworkDescription& network,
                                         const Address& self);

}  // namespace gym::node
