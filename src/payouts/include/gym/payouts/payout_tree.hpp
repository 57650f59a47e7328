#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::payouts {

/// Which RewardsDistributor a tree is for; part of every leaf, so that no proof works elsewhere.
struct PayoutDomain {
    std::uint64_t chain_id = 0;
    Address distributor;
    Address token;
    friend bool operator==(const PayoutDomain&, const PayoutDomain&) = default;
};

struct Payout {
    Address earner;
    Amount cumulative;  ///< everything it ever earned for claiming on chain
    friend bool operator==(const Payout&, const Payout&) = default;
};

/// keccak(keccak(abi.encode(chainid, distributor, token, earner, cumulative))): hashed twice, so
/// that an inner node, which is as long, can never pass for a leaf.
[[nodiscard]] Digest payout_leaf(const PayoutDomain& domain, const Payout& payout);

/// A node of a payout tree: its hash, and the sum of all leaves below it.
struct PayoutNode {
    Digest hash;
    Amount sum;
    friend bool operator==(const PayoutNode&, const PayoutNode&) = default;
};

/// One level of a path, seen from below.
struct PayoutStep {
    PayoutNode sibling;
    Address pivot;  ///< the first earner of the right side
    friend bool operator==(const PayoutStep&, const PayoutStep&) = default;
};
/// From a leaf up.
using PayoutPath = std::vector<PayoutStep>;

/// The Merkle-sum search tree that RewardsDistributor reads (contracts/src/PayoutTree.sol): an
/// inner node is keccak(abi.encode(left, sum of left, pivot, right, sum of right)), earners below
/// the pivot are on the left. The last node of a level with an odd number goes up as it is. So a
/// root pays its sum at most, and the leaf at the end of an earner's path says whether it is in the
/// tree.
class PayoutTree {
  public:
    /// Leaves are ordered by earner. `threads` hash it, as many as the machine has if 0; the tree
    /// is the same. @errors kInvalidArgument for no payout, a repeated earner, a cumulative amount
    /// of zero, or a total of 2^256 and more.
    static Result<PayoutTree> build(const PayoutDomain& domain, std::vector<Payout> payouts,
                                    unsigned threads = 0);

    [[nodiscard]] const Digest& root() const { return levels_.back().front().hash; }
    /// What all earners have.
    [[nodiscard]] const Amount& total() const { return levels_.back().front().sum; }
    [[nodiscard]] const std::vector<Payout>& payouts() const { return payouts_; }
    /// @errors kNotFound.
    [[nodiscard]] Result<PayoutPath> prove(const Address& earner) const;
    /// Where the path of `key` ends: its own payout, or another's if the tree pays it nothing.
    [[nodiscard]] const Payout& end_of_path(const Address& key) const;
    /// @errors kNotFound.
    [[nodiscard]] Result<Amount> cumulative_of(const Address& earner) const;

  private:
    PayoutTree() = default;
    [[nodiscard]] Result<std::size_t> index_of(const Address& earner) const;
    std::vector<Payout> payouts_;
    std::vector<std::vector<PayoutNode>> levels_;  // [0] = leaves
};

/// An earner that has less in one list than in the other, or is not in it.
struct Fallen {
    Address earner;
    Amount before;
    Amount after;  ///< zero if it is left out
    friend bool operator==(const Fallen&, const Fallen&) = default;
};
/// The earner whose cumulative amount fell most from `before` to `after`.
[[nodiscard]] std::optional<Fallen> most_fallen(const std::vector<Payout>& before,
                                                const std::vector<Payout>& after);

/// The root and the total of the tree in which `key`'s path ends at `leaf`, as the contract
/// computes them. @errors kOutOfRange at sums of 2^256.
[[nodiscard]] Result<PayoutNode> fold_path(const PayoutDomain& domain, const Payout& leaf,
                                           const Address& key, std::span<const PayoutStep> path);

}  // namespace gym::payouts
