#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"
#include "gym/payouts/payout_tree.hpp"

// The proofs that RewardsDistributor.claim() takes.
namespace gym::rewards {

using payouts::PayoutTree;

/// The payout root that pays now, without its tree.
struct ActiveRoot {
    std::uint64_t epoch = 0;
    Digest root;
    UnixMs active_at_ms = 0;
};
/// The newest root that is active at `now_ms`. @errors kNotFound.
Result<ActiveRoot> active_root(db::Transaction& transaction, UnixMs now_ms);
/// @errors as parse_epoch_file and PayoutTree::build.
Result<PayoutTree> tree_of_file(std::string_view epoch_file);

struct ClaimProof {
    std::uint64_t epoch = 0;
    Digest root;
    Amount cumulative;
    payouts::PayoutPath path;
    UnixMs active_at_ms = 0;
};
/// From the root's tree. @errors kNotFound if the earner is not in it.
Result<ClaimProof> claim_proof(const ActiveRoot& root, const PayoutTree& tree,
                               const Address& earner);
/// The same, from a tree built for this proof alone. To answer many requests use PayoutTreeCache.
/// @errors kNotFound if there is no active root with this earner.
Result<ClaimProof> claim_proof(db::Transaction& transaction, const Address& earner, UnixMs now_ms);

/// A cache of the payout tree of the root that pays now. Building a tree of a million earners takes
/// a second, a proof from it microseconds. Holds one tree (about 180 bytes an earner), and the one
/// before as long as a caller reads it. Thread-safe: calls wait while the tree is built.
class PayoutTreeCache {
  public:
    /// Reads the epoch's file (epoch_file()); called only if the tree is not in the cache.
    using LoadFile = std::function<Result<std::string>(std::uint64_t epoch)>;

    /// @errors as `load` and parse_epoch_file; kMismatch if the file does not give the root.
    [[nodiscard]] Result<std::shared_ptr<const PayoutTree>> tree(const ActiveRoot& root,
                                                                 const LoadFile& load);

  private:
    std::mutex mutex_;
    std::uint64_t epoch_ = 0;
    std::shared_ptr<const PayoutTree> tree_;
};

}  // namespace gym::rewards
