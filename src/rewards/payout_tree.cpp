#include "gym/rewards/payout_tree.hpp"

#include <algorithm>
#include <array>

#include "gym/crypto/keccak.hpp"

namespace gym::rewards {
namespace {

std::array<std::uint8_t, 32> word(const Address& address) {
    std::array<std::uint8_t, 32> out{};
    std::copy(address.data.begin(), address.data.end(), out.end() - Address::kSize);
    return out;
}

Digest node(const Digest& a, const Digest& b) {
    return a < b ? crypto::keccak256({a.view(), b.view()})
                 : crypto::keccak256({b.view(), a.view()});
}

}  // namespace

Digest payout_leaf(const PayoutDomain& domain, const Payout& payout) {
    const auto chain_id = Amount(domain.chain_id).to_be32();
    const auto distributor = word(domain.distributor);
    const auto token = word(domain.token);
    const auto earner = word(payout.earner);
    const auto cumulative = payout.cumulative.to_be32();
    const Digest inner = crypto::keccak256({chain_id, distributor, token, earner, cumulative});
    return crypto::keccak256(inner.view());
}

Result<PayoutTree> PayoutTree::build(const PayoutDomain& domain, std::vector<Payout> payouts) {
    if (payouts.empty()) return fail(ErrorCode::kInvalidArgument, "a payout tree needs a payout");
    std::sort(payouts.begin(), payouts.end(),
              [](const Payout& a, const Payout& b) { return a.earner < b.earner; });
    std::vector<Digest> leaves;
    for (std::size_t i = 0; i < payouts.size(); ++i) {
        if (payouts[i].cumulative.is_zero())
            return fail(ErrorCode::kInvalidArgument,
                        "a payout of zero for " + payouts[i].earner.hex());
        if (i > 0 && payouts[i - 1].earner == payouts[i].earner)
            return fail(ErrorCode::kInvalidArgument, "two payouts for " + payouts[i].earner.hex());
        leaves.push_back(payout_leaf(domain, payouts[i]));
    }
    PayoutTree tree;
    tree.payouts_ = std::move(payouts);
    tree.levels_.push_back(std::move(leaves));
    while (tree.levels_.back().size() > 1) {
        const std::vector<Digest>& below = tree.levels_.back();
        std::vector<Digest> level;
        for (std::size_t i = 0; i + 1 < below.size(); i += 2)
            level.push_back(node(below[i], below[i + 1]));
        if (below.size() % 2 == 1) level.push_back(below.back());
        tree.levels_.push_back(std::move(level));
    }
    return tree;
}

Result<std::vector<Digest>> PayoutTree::prove(const Address& earner) const {
    const auto found =
        std::lower_bound(payouts_.begin(), payouts_.end(), earner,
                         [](const Payout& p, const Address& a) { return p.earner < a; });
    if (found == payouts_.end() || found->earner != earner)
        return fail(ErrorCode::kNotFound, "the payout root pays nothing to " + earner.hex());
    auto index = static_cast<std::size_t>(found - payouts_.begin());
    std::vector<Digest> proof;
    for (const std::vector<Digest>& level : levels_) {
        const std::size_t sibling = index ^ 1;
        if (sibling < level.size()) proof.push_back(level[sibling]);
        index /= 2;
    }
    return proof;
}

Digest fold_proof(const Digest& leaf, std::span<const Digest> siblings) {
    Digest at = leaf;
    for (const Digest& sibling : siblings)
        at = node(at, sibling);
    return at;
}

}  // namespace gym::rewards
