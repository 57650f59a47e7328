#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gym/chain/abi.hpp"
#include "gym/chain/contracts.hpp"
#include "gym/chain/tx_manager.hpp"

namespace gym::chain {

/// What forge writes about a contract, as much as we read of it.
struct Artifact {
    std::string name;
    Bytes bytecode;  ///< creation code, without constructor arguments
    std::vector<AbiType> constructor;
    std::vector<std::string> functions;  ///< "release(uint64,address[],uint256[])"
    std::vector<std::string> events;
    std::vector<std::string> errors;
};

/// Reads `folder`/NAME.sol/NAME.json. @errors kNotFound, kIo, kMalformed (also bytecode with
/// unlinked libraries).
[[nodiscard]] Result<Artifact> load_artifact(const std::filesystem::path& folder,
                                             const std::string& name);

/// $GYM_CONTRACTS_OUT, else contracts/out of data_folder().
/// @errors kNotFound.
[[nodiscard]] Result<std::filesystem::path> find_artifacts();

/// Where our contracts are.
struct Deployment {
    std::uint64_t chain_id = 0;
    std::uint64_t start_block = 0;  ///< nothing of ours happened before
    Address token;
    Address distributor;
    Address escrow;
    Address commitment_log;
    friend bool operator==(const Deployment&, const Deployment&) = default;
};

/// JSON with the field names above. @errors kIo / kNotFound, kMalformed.
Status save_deployment(const std::filesystem::path& path, const Deployment& deployment);
[[nodiscard]] Result<Deployment> load_deployment(const std::filesystem::path& path);

/// Constructor arguments and role holders. The deployer becomes admin (it grants the roles).
struct DeployParams {
    Address token_holder;
    Amount token_supply;
    std::uint64_t admin_delay_s = 0;
    std::uint64_t activation_delay_s = 0;
    Amount growth_limit;  ///< below 2^128
    std::uint64_t withdrawal_delay_s = 0;
    std::uint64_t epoch_interval_s = 0;
    Amount release_cap;
    Address settler;
    Address guardian;
    Address coordinator;
};

/// Deploys the four contracts and grants the roles, through intents named "deploy/...": calling it
/// again after a crash goes on where it stopped and never deploys twice. Returns when all are in
/// blocks and the roles are held.
/// @errors kConflict with the decoded revert, kTimeout, and as TxManager.
[[nodiscard]] Result<Deployment> deploy(TxManager& manager, ChainClient& client,
                                        const std::filesystem::path& artifacts,
                                        const DeployParams& params, std::uint32_t timeout_ms);
/// Waits until nothing that deploy() did can be undone by a reorganisation. @errors kConflict,
/// kTimeout, as TxManager::wait.
Status wait_deployment_final(TxManager& manager, std::uint32_t timeout_ms);

}  // namespace gym::chain
