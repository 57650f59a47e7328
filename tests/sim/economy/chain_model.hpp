#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "gym/crypto/key.hpp"
#include "gym/payouts/payout_tree.hpp"
#include "gym/records/order.hpp"
#include "network.hpp"

/// What lives in contracts: their sums and refusals, each with the function that it mirrors.
/// Signatures, trees and paths are the project's own.
namespace gym::sim::economy {

inline constexpr UnixMs kNowMs = 1'800'000'000'000;

/// The network that orders are for.
[[nodiscard]] const records::OrderNetwork& order_network();
/// A key of each party that signs; the same in every run.
[[nodiscard]] const crypto::PrivateKey& key_of(Account account);

/// contracts/src/JobEscrow.sol.
class Escrow {
  public:
    Escrow(Book& book, const Rules& rules) : book_(book), rules_(rules) {}

    void deposit(Account owner, Wei amount);
    /// lock(): signature, expiry, nonce, free balance (JobEscrowLocks.t.sol).
    bool lock(Account owner, const records::JobOrder& order, const records::OrderSeal& seal);
    /// release() to the distributor, of locked money alone.
    bool release(Account owner, Wei amount);
    /// unlock(), which the settler's key alone calls.
    void unlock(Account owner, Wei amount);
    /// withdraw() of all that is not locked, after its delay.
    void withdraw(Account owner);
    /// exit(), 30 days after requestExit(): everything.
    void exit(Account owner);
    [[nodiscard]] Wei locked_of(Account owner) const;

  private:
    struct Deposit {
        Wei balance = 0;
        Wei locked = 0;
    };
    Book& book_;
    const Rules& rules_;
    std::map<Account, Deposit> deposits_;
    std::set<std::pair<Account, Digest>> nonces_;
};

/// contracts/src/RewardsDistributor.sol.
class Distributor {
  public:
    struct Root {
        Digest hash;
        Wei total = 0;
        /// Known to all if the file was published, else to its poster alone.
        std::vector<payouts::Payout> leaves;
        bool published = true;
    };

    Distributor(Book& book, const Rules& rules, Wei growth_limit)
        : book_(book), rules_(rules), growth_limit_(growth_limit) {}

    /// submitRoot(): growth and funding. The root is pending then.
    bool submit(Root root);
    /// The activation delay passes: any earner disables a root under which it has less, or demands
    /// its leaf; then the root is active. @return whether it is.
    bool activate();
    void disable() { pending_ = false; }
    /// claim() by the path in the tree of the active root's leaves.
    Wei claim(Account earner);
    [[nodiscard]] const Root& active() const { return active_; }
    [[nodiscard]] Wei funded() const { return claimed_total_ + book_.of(Account::kDistributor); }

  private:
    [[nodiscard]] bool is_valid(const Root& root, const payouts::PayoutTree& tree,
                                const Address& earner) const;
    [[nodiscard]] bool answers_demands(const payouts::PayoutTree& tree) const;

    Book& book_;
    const Rules& rules_;
    Wei growth_limit_;
    Root active_;
    Root next_;
    bool pending_ = false;
    std::map<Account, Wei> claimed_;
    Wei claimed_total_ = 0;
};

[[nodiscard]] payouts::PayoutTree tree_of(const std::vector<payouts::Payout>& leaves);

}  // namespace gym::sim::economy
