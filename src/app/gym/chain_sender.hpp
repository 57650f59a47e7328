#pragma once

#include <memory>
#include <string>

#include "gym/contracts/account.hpp"
#include "gym/contracts/deployment.hpp"
#include "network_options.hpp"
#include "send_lock.hpp"

namespace gym::app {

/// The user's key on a chain, for this command alone.
struct LockedAccount {
    SendLock lock;
    std::unique_ptr<contracts::Account> account;
};

/// The same on the chain of a deployment.
struct ChainSender {
    contracts::Deployment contracts;
    SendLock lock;
    std::unique_ptr<contracts::Account> account;
};

/// The user's key on the chain at `url`; transactions are remembered in the data directory.
/// @errors those of the keystore, lock_sender() and the chain.
[[nodiscard]] Result<LockedAccount> open_account(const KeyOptions& keys, const std::string& url);
/// Before anything is signed: every contract of the deployment is there. @errors as open_account();
/// kMismatch if the chain is not the deployment's; check_contracts().
[[nodiscard]] Result<ChainSender> open_sender(const KeyOptions& keys, const ChainOptions& chain);
/// Also that a gym-api which the user named serves the network of these. @errors check_network().
[[nodiscard]] Result<ChainSender> open_sender(const KeyOptions& keys, const ChainOptions& chain,
                                              const ApiOptions& api);

/// That the sender's wallet holds `amount` tokens. @errors kInsufficientFunds; those of the chain.
[[nodiscard]] Status check_holds(const ChainSender& sender, const Amount& amount);

}  // namespace gym::app
