#include "gym/rewards/claim_proof.hpp"

#include "gym/rewards/epoch_file.hpp"
#include "gym/rewards/queries.hpp"

namespace gym::rewards {

Result<ActiveRoot> active_root(db::Transaction& transaction, UnixMs now_ms) {
    GYM_TRY(const auto row, transaction.exec_optional(
                                "SELECT epoch, payout_root, active_at_ms FROM rewards.settlement "
                                "WHERE state = 'submitted' AND active_at_ms <= $1 "
                                "ORDER BY epoch DESC LIMIT 1",
                                {now_ms}));
    if (!row)
        return fail(ErrorCode::kNotFound,
                    "no payout root is active yet: the first follows the first final credits");
    return ActiveRoot{row->get<std::uint64_t>("epoch"), row->get<Digest>("payout_root"),
                      row->get<UnixMs>("active_at_ms")};
}

Result<PayoutTree> tree_of_file(std::string_view epoch_file) {
    GYM_TRY(EpochFile file, parse_epoch_file(epoch_file));
    return PayoutTree::build(file.domain, std::move(file.payouts));
}

Result<ClaimProof> claim_proof(const ActiveRoot& root, const PayoutTree& tree,
                               const Address& earner) {
    ClaimProof out{root.epoch, root.root, {}, {}, root.active_at_ms};
    GYM_TRY(out.cumulative, tree.cumulative_of(earner));
    GYM_TRY(out.path, tree.prove(earner));
    return out;
}

Result<ClaimProof> claim_proof(db::Transaction& transaction, const Address& earner, UnixMs now_ms) {
    GYM_TRY(const ActiveRoot root, active_root(transaction, now_ms));
    GYM_TRY(const std::string file, epoch_file(transaction, root.epoch));
    GYM_TRY(const PayoutTree tree, tree_of_file(file));
    return claim_proof(root, tree, earner);
}

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
