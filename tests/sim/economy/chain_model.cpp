#include "chain_model.hpp"

#include "must.hpp"

namespace gym::sim::economy {
namespace {

using gym::testing::must;

const payouts::PayoutDomain& payout_domain() {
    static const payouts::PayoutDomain domain{31'337, must(Address::from(Bytes(20, 1))),
                                              must(Address::from(Bytes(20, 2)))};
    return domain;
}

}  // namespace

const records::OrderNetwork& order_network() {
    static const records::OrderNetwork network{31'337, must(Address::from(Bytes(20, 3)))};
    return network;
}

const crypto::PrivateKey& key_of(Account account) {
    static const std::vector<crypto::PrivateKey> keys = [] {
        std::vector<crypto::PrivateKey> out;
        for (std::size_t i = 0; i < kAccounts; ++i)
            out.push_back(
                must(crypto::PrivateKey::from_bytes(Bytes(32, static_cast<std::uint8_t>(i + 1)))));
        return out;
    }();
    return keys[static_cast<std::size_t>(account)];
}

void Escrow::deposit(Account owner, Wei amount) {
    book_.move(owner, Account::kEscrow, amount);
    deposits_[owner].balance += amount;
}

bool Escrow::lock(Account owner, const records::JobOrder& order, const records::OrderSeal& seal) {
    if (rules_.orders_signed && !records::check_seal(order_network(), order, seal).ok())
        return false;
    if (rules_.orders_expire && !records::check_expiry(seal, kNowMs).ok()) return false;
    if (!nonces_.emplace(owner, order.nonce).second && rules_.orders_once) return false;
    Deposit& deposit = deposits_[owner];
    const Wei amount = wei_of(order.budget_wei);
    if (order.owner != key_of(owner).address() || amount > deposit.balance - deposit.locked)
        return false;
    deposit.locked += amount;
    return true;
}

bool Escrow::release(Account owner, Wei amount) {
    Deposit& deposit = deposits_[owner];
    const Wei available = std::min(deposit.locked, deposit.balance);
    if (amount == 0 || amount > available) return false;
    deposit.balance -= amount;
    deposit.locked -= amount;
    book_.move(Account::kEscrow, Account::kDistributor, amount);
    return true;
}

void Escrow::unlock(Account owner, Wei amount) {
    Deposit& deposit = deposits_[owner];
    deposit.locked -= std::min(amount, deposit.locked);
}

void Escrow::withdraw(Account owner) {
    Deposit& deposit = deposits_[owner];
    const Wei free = deposit.balance - (rules_.locks_bind ? deposit.locked : 0);
    deposit.balance -= free;
    book_.move(Account::kEscrow, owner, free);
}

void Escrow::exit(Account owner) {
    unlock(owner, locked_of(owner));
    withdraw(owner);
}

Wei Escrow::locked_of(Account owner) const {
    const auto found = deposits_.find(owner);
    return found == deposits_.end() ? 0 : std::min(found->second.locked, found->second.balance);
}

payouts::PayoutTree tree_of(const std::vector<payouts::Payout>& leaves) {
    return must(payouts::PayoutTree::build(payout_domain(), leaves, 1));
}

bool Distributor::submit(Root root) {
    const Wei growth = root.total - active_.total;
    if (growth < 0 || (rules_.growth_limited && growth > growth_limit_)) return false;
    if (root.total > funded()) return false;
    next_ = std::move(root);
    pending_ = true;
    return true;
}

/// _requireLeaf(): the path gives the root, and the sum is the stated total.
bool Distributor::is_valid(const Root& root, const payouts::PayoutTree& tree,
                           const Address& earner) const {
    const payouts::Payout& leaf = tree.end_of_path(earner);
    const auto path = must(tree.prove(leaf.earner));
    const auto folded = must(payouts::fold_path(payout_domain(), leaf, earner, path));
    const bool sum_fits = wei_of(folded.sum) == root.total || !rules_.sums_in_tree;
    return folded.hash == root.hash && sum_fits;
}

/// demandLeaf() by every earner of the active root; showLeaf() by a party that has the tree, with
/// no less than the earner has (RewardsDistributorDemands.t.sol).
bool Distributor::answers_demands(const payouts::PayoutTree& tree) const {
    for (const payouts::Payout& before : active_.leaves) {
        const auto now = tree.cumulative_of(before.earner);
        if (!now.ok() || now.value() < before.cumulative) return false;
        if (!is_valid(next_, tree, before.earner)) return false;
    }
    return true;
}

bool Distributor::activate() {
    if (!pending_) return false;
    pending_ = false;
    const payouts::PayoutTree tree = tree_of(next_.leaves);
    const auto fallen = payouts::most_fallen(active_.leaves, next_.leaves);
    // disableFallen() needs the tree's leaves (RewardsDistributorProofs.t.sol).
    const bool provable = fallen && next_.published && is_valid(next_, tree, fallen->earner);
    if (provable && rules_.falls_disable) return false;
    if (rules_.leaves_on_demand && !answers_demands(tree)) return false;
    active_ = next_;
    return true;
}

Wei Distributor::claim(Account earner) {
    if (active_.leaves.empty()) return 0;
    const Address address = key_of(earner).address();
    const payouts::PayoutTree tree = tree_of(active_.leaves);
    const auto cumulative = tree.cumulative_of(address);
    if (!cumulative.ok() || !is_valid(active_, tree, address)) return 0;
    const Wei due = wei_of(cumulative.value()) - claimed_[earner];
    // _addToTotal(): all claims together are within the total.
    if (due <= 0 || claimed_total_ + due > active_.total) return 0;
    if (due > book_.of(Account::kDistributor)) return 0;
    claimed_[earner] += due;
    claimed_total_ += due;
    book_.move(Account::kDistributor, earner, due);
    return due;
}

}  // namespace gym::sim::economy
