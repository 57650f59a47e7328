#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::rewards {

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
/// that an inner node (64 bytes) can never pass for a leaf.
[[nodiscard]] Digest payout_leaf(const PayoutDomain& domain, const Payout& payout);

/// The Merkle tree that OpenZeppelin's MerkleProof verifies: inner node keccak(min | max) of its
/// two children; the last node of a level with an odd number goes up as it is.
class PayoutTree {
  public:
    /// Leaves are ordered by earner. `threads` hash it, as many as the machine has if 0; the tree
    /// is the same. @errors kInvalidArgument for no payout, a repeated earner, or a cumulative
    /// amount of zero.
    static Result<PayoutTree> build(const PayoutDomain& domain, std::vector<Payout> payouts,
                                    unsigned threads = 0);

    [[nodiscard]] const Digest& root() const { return levels_.back().front(); }
    [[nodiscard]] const std::vector<Payout>& payouts() const { return payouts_; }
    /// @errors kNotFound.
    [[nodiscard]] Result<std::vector<Digest>> prove(const Address& earner) const;
    /// @errors kNotFound.
    [[nodiscard]] Result<Amount> cumulative_of(const Address& earner) const;

  private:
    PayoutTree() = default;
    [[nodiscard]] Result<std::size_t> index_of(const Address& earner) const;
    std::vector<Payout> payouts_;
    std::vector<std::vector<Digest>> levels_;  // [0] = leaves
};

/// An earner that has less in one list than in the other.
struct Fallen {
    Address earner;
    Amount before;
    Amount after;
    friend bool operator==(const Fallen&, const Fallen&) = default;
};
/// The earner whose cumulative amount fell most from `before` to `after`; earners that `after`
/// leaves out do not count, since nothing proves that an earner is not in a tree.
[[nodiscard]] std::optional<Fallen> most_fallen(const std::vector<Payout>& before,
                                                const std::vector<Payout>& after);

/// The root that the contract computes from a leaf and its siblings.
[[nodiscard]] Digest fold_proof(const Digest& leaf, std::span<const Digest> siblings);

}  // namespace gym::rewards
