#include "gym/rewards/proof_cache.hpp"

namespace gym::rewards {

Result<std::shared_ptr<const PayoutTree>> PayoutTreeCache::tree(const ActiveRoot& root,
                                                                const LoadFile& load) {
    const std::lock_guard lock(mutex_);
    if (tree_ && epoch_ == root.epoch && tree_->root() == root.root) return tree_;
    GYM_TRY(const std::string json, load(root.epoch));
    GYM_TRY(PayoutTree made, tree_of_file(json));
    if (made.root() != root.root)
        return fail(ErrorCode::kMismatch, "the file of epoch " + std::to_string(root.epoch) +
                                              " gives the payout root " + made.root().hex() +
                                              ", settled was " + root.root.hex());
    tree_ = std::make_shared<const PayoutTree>(std::move(made));
    epoch_ = root.epoch;
    return tree_;
}

}  // namespace gym::rewards
