#pragma once

#include <string>
#include <vector>

#include "gym/chain/deploy.hpp"

namespace gym::chain {

struct Placed {
    Address address;
    std::uint64_t block = 0;
};

/// Contract creations as intents "deploy/NAME", so that a repetition creates nothing twice.
class Deployer {
  public:
    Deployer(TxManager& manager, const std::filesystem::path& artifacts, std::uint32_t timeout_ms)
        : manager_(manager), artifacts_(artifacts), timeout_ms_(timeout_ms) {}

    /// Asks for the contract; several can be on their way at once. @param again for a name that is
    /// deployed anew: part of the intent's id.
    Status submit(const std::string& name, const std::vector<AbiValue>& arguments,
                  const std::string& again = {});
    /// Waits until it is in a block.
    [[nodiscard]] Result<Placed> placed(const std::string& name, const std::string& again = {});
    /// Both for one contract.
    [[nodiscard]] Result<Placed> create(const std::string& name,
                                        const std::vector<AbiValue>& arguments);
    /// Whether it was asked for and has not failed.
    [[nodiscard]] Result<bool> under_way(const std::string& name, const std::string& again);
    /// The constructor's arguments that a contract was asked for with.
    [[nodiscard]] Result<std::vector<AbiValue>> arguments_of(const std::string& name,
                                                             const std::string& again);

    [[nodiscard]] TxManager& manager() { return manager_; }

  private:
    TxManager& manager_;
    const std::filesystem::path& artifacts_;
    std::uint32_t timeout_ms_;
};

/// Stake and the dispute game that it names, once token and rules are there.
/// @param rules OpeningRules, TreeRules, StepRules, FaultRules, ElementRules, OuterRules,
/// OuterProofs.
Status deploy_game(Deployer& deployer, const DisputeParams& params,
                   const std::vector<Address>& rules, Deployment& out);

}  // namespace gym::chain
