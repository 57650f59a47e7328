#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "gym/chain/client.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/drand_beacon.hpp"
#include "gym/game/dispute_params.hpp"

namespace gym::contracts {

/// Constructor arguments and role holders. The deployer becomes the admin, by way of the
/// AdminTimelock.
struct DeployParams {
    Address token_holder;
    Amount token_supply;
    /// Of the AdminTimelock: at least twice each of the next two delays.
    std::uint64_t admin_delay_s = 0;
    std::uint64_t activation_delay_s = 0;
    Amount growth_limit;  ///< below 2^128
    std::uint64_t withdrawal_delay_s = 0;
    std::uint64_t epoch_interval_s = 0;
    Amount release_cap;
    Address settler;
    Address guardian;
    Address coordinator;
    game::DisputeParams dispute;
    /// Draws what is verified; absent: prevrandao of the chain does.
    std::optional<DrandChain> drand;
};

/// Deploys token, timelock, escrow, distributor, commitment log, the drand chain's beacons if one
/// draws, stakes of workers and verifiers, and the dispute game of each, with all that computes for
/// them, and with the holders of all roles, through intents named "deploy/...": calling it again
/// after a crash continues where it stopped and never deploys twice. Returns when all are in
/// blocks.
/// @errors kInvalidArgument of check_dispute_params, and for a chain whose prevrandao cannot draw
/// (chain::check_prevrandao) where no drand chain does; kConflict with the decoded revert,
/// kTimeout, and as TxManager.
[[nodiscard]] Result<Deployment> deploy(chain::TxManager& manager, chain::ChainClient& client,
                                        const std::filesystem::path& artifacts,
                                        const DeployParams& params, std::uint32_t timeout_ms);
/// Waits until nothing that deploy() did can be undone by a reorganisation. @errors kConflict,
/// kTimeout, as chain::TxManager::wait.
Status wait_deployment_final(chain::TxManager& manager, std::uint32_t timeout_ms);

}  // namespace gym::contracts
