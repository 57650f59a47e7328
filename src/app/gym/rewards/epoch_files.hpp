#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/network_options.hpp"
#include "gym/chain/client.hpp"
#include "gym/contracts/rewards_distributor.hpp"
#include "gym/rewards/epoch_file.hpp"

namespace CLI {
class App;
}

namespace gym::app {

/// Where the published epoch files are read from.
struct EpochFileOptions {
    ApiOptions api;
    std::string folder;  ///< with epoch-N.json; empty: asks gym-api

    void add_to(CLI::App& command);
};

struct NamedFile {
    rewards::EpochFile content;
    Digest root;  ///< of its bytes
};

/// @errors of the file and of gym-api; kMismatch if it is of another epoch.
[[nodiscard]] Result<NamedFile> fetch_epoch_file(const EpochFileOptions& options,
                                                 std::uint64_t epoch);

/// The payout roots that the chain has.
struct PayoutRoots {
    contracts::RootSubmitted pending;  ///< epoch 0: none waits
    contracts::RootSubmitted active;   ///< epoch 0: none has become active yet
    /// Nothing before it can differ from what it was made of.
    [[nodiscard]] const contracts::RootSubmitted& newest() const {
        return pending.epoch != 0 ? pending : active;
    }
};

/// @errors those of the node.
[[nodiscard]] Result<PayoutRoots> payout_roots(chain::ChainClient& client,
                                               const contracts::RewardsDistributor& distributor);

/// That the root of `epoch` is pending and another is active. @errors kConflict.
[[nodiscard]] Status check_pending(const PayoutRoots& roots, std::uint64_t epoch);

/// What RewardsDistributor.disableFallen takes: the leaves at which one earner's path ends under
/// both roots.
struct FallenProof {
    payouts::Fallen fallen;
    contracts::Claim active;
    contracts::Claim pending;
};

/// The leaf of `earner` under `root`, from its epoch's file. @errors as prove_fallen(); kNotFound
/// if the root pays it nothing.
[[nodiscard]] Result<contracts::Claim> leaf_under(const EpochFileOptions& options,
                                                  const contracts::RootSubmitted& root,
                                                  const Address& earner);

/// The earner that has least under the pending root compared with the active one, with paths from
/// the two epochs' files. Nothing if no amount fell. @errors of fetch_epoch_file(); kMismatch
/// if a file does not give the root on chain: without its leaves nothing can be proven.
[[nodiscard]] Result<std::optional<FallenProof>> prove_fallen(
    const EpochFileOptions& options, const contracts::RootSubmitted& active,
    const contracts::RootSubmitted& pending);

}  // namespace gym::app
