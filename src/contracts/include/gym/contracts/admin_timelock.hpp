#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/deployment.hpp"

namespace gym::contracts {

/// One call that the admin of the contracts makes.
struct AdminCall {
    Address target;
    Amount value_wei;
    Bytes data;
    friend bool operator==(const AdminCall&, const AdminCall&) = default;
};

/// Calls that are announced and executed together, in order.
struct AdminChange {
    std::vector<AdminCall> calls;
    Digest predecessor;   ///< another change that has to be executed before; zero: none
    Digest salt;          ///< tells changes with the same calls apart
    bool single = false;  ///< announced by schedule(), not by scheduleBatch(): one call

    /// Under which the timelock knows it.
    [[nodiscard]] Digest id() const;
    friend bool operator==(const AdminChange&, const AdminChange&) = default;
};

/// A change that was announced and neither executed nor cancelled, and has not lapsed.
struct PendingChange {
    Digest id;
    std::uint64_t ready_at_s = 0;  ///< Unix seconds from which it can be executed
    bool ready = false;            ///< by the latest block
    AdminChange change;
};

/// The admin of JobEscrow, RewardsDistributor and CommitmentLog.
class AdminTimelock {
  public:
    explicit AdminTimelock(Address address) : address_(address) {}
    /// The one that the deployment's contracts name. @errors kMismatch if they name several; as
    /// views.
    [[nodiscard]] static Result<AdminTimelock> of(chain::ChainClient& client,
                                                  const Deployment& contracts);
    [[nodiscard]] const Address& address() const noexcept { return address_; }

    /// @param delay_s at least delay_s().
    [[nodiscard]] ContractCall announce(const AdminChange& change, std::uint64_t delay_s) const;
    [[nodiscard]] ContractCall execute(const AdminChange& change) const;
    [[nodiscard]] ContractCall cancel(const Digest& id) const;

    /// Seconds between an announcement and its execution.
    [[nodiscard]] Result<std::uint64_t> delay_s(chain::ChainClient& client) const;
    /// How many announcements there were.
    [[nodiscard]] Result<std::uint64_t> announcements(chain::ChainClient& client) const;
    /// In the order in which they were announced. @errors also kMalformed for a change whose events
    /// do not give its id.
    [[nodiscard]] Result<std::vector<PendingChange>> pending(chain::ChainClient& client) const;

  private:
    [[nodiscard]] Result<AdminChange> read_change(chain::ChainClient& client, const Digest& id,
                                                  std::uint64_t block) const;

    Address address_;
};

/// Who does what; each role is held in several contracts.
enum class AdminRole { kSettler, kCoordinator, kGuardian, kAdmin };
/// Limits of what moves at once.
enum class AdminLimit { kReleaseCap, kOwnerReleaseCap, kGrowthLimit };

/// The calls that give the role to an account, or take it away, wherever it is held.
[[nodiscard]] std::vector<AdminCall> grant_calls(const Deployment& contracts,
                                                 const Address& timelock, AdminRole role,
                                                 const Address& account);
[[nodiscard]] std::vector<AdminCall> revoke_calls(const Deployment& contracts,
                                                  const Address& timelock, AdminRole role,
                                                  const Address& account);
/// Whether the account holds the role in at least one contract.
[[nodiscard]] Result<bool> holds_role(chain::ChainClient& client, const Deployment& contracts,
                                      const Address& timelock, AdminRole role,
                                      const Address& account);
[[nodiscard]] AdminCall limit_call(const Deployment& contracts, AdminLimit limit,
                                   const Amount& amount);
[[nodiscard]] Result<Amount> limit_of(chain::ChainClient& client, const Deployment& contracts,
                                      AdminLimit limit);
/// Ends the pauses that are on: of deposits and releases, of payout roots.
[[nodiscard]] Result<std::vector<AdminCall>> unpause_calls(chain::ChainClient& client,
                                                           const Deployment& contracts);

/// "grant SETTLER_ROLE to 0x.. in JobEscrow"; a call that is not ours as its data.
[[nodiscard]] std::string describe_call(const Deployment& contracts, const Address& timelock,
                                        const AdminCall& call);

}  // namespace gym::contracts
