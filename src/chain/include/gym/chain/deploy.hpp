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
    Address stake;
    Address dispute_game;
    friend bool operator==(const Deployment&, const Deployment&) = default;
};

/// JSON with the field names above. @errors kIo / kNotFound, kMalformed (also a file of before
/// there were disputes).
Status save_deployment(const std::filesystem::path& path, const Deployment& deployment);
[[nodiscard]] Result<Deployment> load_deployment(const std::filesystem::path& path);

/// The terms of disputes and of stake, fixed for good when they are deployed.
struct DisputeParams {
    Amount bond{10'000'000'000'000'000'000U};  ///< of a challenger: 10 tokens
    std::uint64_t clock_s =
        std::uint64_t{2} * 86'400;  ///< of each side, for a whole game: "period"
    std::uint64_t settling_s =
        std::uint64_t{4} * 86'400;         ///< after the first proof, for earlier announcements
    std::uint32_t announce_blocks = 2;     ///< least from announce() to open()
    std::uint32_t open_blocks = 300;       ///< after these, in which open() must come
    std::uint64_t escrow_gas = 4'000'000;  ///< of the asserter's moves, paid in advance
    std::uint64_t window_blocks = 7'200;   ///< after an epoch's root, in which games are opened
    std::uint64_t thaw_period_s = std::uint64_t{7} * 86'400;  ///< from thaw() to withdraw()
    std::uint32_t burned_ppm = 500'000;                       ///< of a slash, at least half
    std::uint32_t compensation_ppm = 100'000;                 ///< of a slash
    std::uint32_t block_time_s = 12;      ///< the longest that a block usually takes
    std::uint64_t inclusion_delay_s = 0;  ///< until a transaction is forced in; 0: not known
};

/// What must hold between them so that every side has its time and no stake leaves before it could
/// be slashed (docs/adr/0004-dispute-game.md): settling >= 2 clocks, clock >= 2 inclusion delays,
/// thaw period >= window + 2 clocks, and the bounds of the contracts.
/// @errors kInvalidArgument naming both values and what to change.
Status check_dispute_params(const DisputeParams& params);

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
    DisputeParams dispute;
};

/// Deploys token, escrow, distributor, commitment log, stake and dispute game with all that
/// computes for it, and grants the roles, through intents named "deploy/...": calling it again
/// after a crash goes on where it stopped and never deploys twice. Returns when all are in blocks
/// and the roles are held.
/// @errors kInvalidArgument of check_dispute_params; kConflict with the decoded revert, kTimeout,
/// and as TxManager.
[[nodiscard]] Result<Deployment> deploy(TxManager& manager, ChainClient& client,
                                        const std::filesystem::path& artifacts,
                                        const DeployParams& params, std::uint32_t timeout_ms);
/// Waits until nothing that deploy() did can be undone by a reorganisation. @errors kConflict,
/// kTimeout, as TxManager::wait.
Status wait_deployment_final(TxManager& manager, std::uint32_t timeout_ms);

}  // namespace gym::chain
