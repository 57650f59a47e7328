#include "gym/payouts/payout_tree.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <thread>

#include "gym/crypto/keccak.hpp"

namespace gym::payouts {
namespace {

std::array<std::uint8_t, 32> word(const Address& address) {
    std::array<std::uint8_t, 32> out{};
    std::copy(address.data.begin(), address.data.end(), out.end() - Address::kSize);
    return out;
}

constexpr std::size_t kHashesPerThreadMin = 4'096;  // fewer take less time than a thread's start
constexpr unsigned kThreadsMax = 64;

/// Calls work(begin, end) for parts of [0, count), which it must be able to do in any order.
template <class Work>
void in_parts(std::size_t count, unsigned threads, const Work& work) {
    const std::size_t parts =
        std::clamp<std::size_t>(count / kHashesPerThreadMin, 1, std::min(threads, kThreadsMax));
    std::vector<std::jthread> pool;
    for (std::size_t i = 1; i < parts; ++i)
        pool.emplace_back([&, i] { work(count * i / parts, count * (i + 1) / parts); });
    work(std::size_t{0}, count / parts);
}

/// @errors of Amount::plus.
Result<PayoutNode> parent(const PayoutNode& left, const Address& pivot, const PayoutNode& right) {
    const auto left_sum = left.sum.to_be32();
    const auto right_sum = right.sum.to_be32();
    const auto first = word(pivot);
    PayoutNode out;
    GYM_TRY(out.sum, left.sum.plus(right.sum));
    out.hash = crypto::keccak256({left.hash.view(), left_sum, first, right.hash.view(), right_sum});
    return out;
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

Result<PayoutTree> PayoutTree::build(const PayoutDomain& domain, std::vector<Payout> payouts,
                                     unsigned threads) {
    if (payouts.empty()) return fail(ErrorCode::kInvalidArgument, "a payout tree needs a payout");
    if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
    const auto by_earner = [](const Payout& a, const Payout& b) { return a.earner < b.earner; };
    if (!std::is_sorted(payouts.begin(), payouts.end(), by_earner))
        std::sort(payouts.begin(), payouts.end(), by_earner);
    for (std::size_t i = 0; i < payouts.size(); ++i) {
        if (payouts[i].cumulative.is_zero())
            return fail(ErrorCode::kInvalidArgument,
                        "a payout of zero for " + payouts[i].earner.hex());
        if (i > 0 && payouts[i - 1].earner == payouts[i].earner)
            return fail(ErrorCode::kInvalidArgument, "two payouts for " + payouts[i].earner.hex());
    }
    Amount total;  // no sum of a part is larger, so that none of those below can fail
    for (const Payout& payout : payouts) {
        const auto sum = total.plus(payout.cumulative);
        if (!sum.ok()) return fail(ErrorCode::kInvalidArgument, "payouts of 2^256 wei and more");
        total = *sum;
    }
    std::vector<PayoutNode> leaves(payouts.size());
    in_parts(leaves.size(), threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            leaves[i] = {payout_leaf(domain, payouts[i]), payouts[i].cumulative};
    });
    PayoutTree tree;
    tree.payouts_ = std::move(payouts);
    tree.levels_.push_back(std::move(leaves));
    while (tree.levels_.back().size() > 1) {
        const std::vector<PayoutNode>& below = tree.levels_.back();
        const std::size_t leaves_of_child = std::size_t{1} << (tree.levels_.size() - 1);
        std::vector<PayoutNode> level((below.size() + 1) / 2);
        in_parts(below.size() / 2, threads, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                const Address& pivot = tree.payouts_[(2 * i + 1) * leaves_of_child].earner;
                level[i] = parent(below[2 * i], pivot, below[2 * i + 1]).value();
            }
        });
        if (below.size() % 2 == 1) level.back() = below.back();
        tree.levels_.push_back(std::move(level));
    }
    return tree;
}

Result<std::size_t> PayoutTree::index_of(const Address& earner) const {
    const auto found =
        std::lower_bound(payouts_.begin(), payouts_.end(), earner,
                         [](const Payout& p, const Address& a) { return p.earner < a; });
    if (found == payouts_.end() || found->earner != earner)
        return fail(ErrorCode::kNotFound, "the payout root pays nothing to " + earner.hex());
    return static_cast<std::size_t>(found - payouts_.begin());
}

Result<Amount> PayoutTree::cumulative_of(const Address& earner) const {
    GYM_TRY(const std::size_t index, index_of(earner));
    return payouts_[index].cumulative;
}

Result<PayoutPath> PayoutTree::prove(const Address& earner) const {
    GYM_TRY(std::size_t index, index_of(earner));
    PayoutPath path;
    for (std::size_t depth = 0; depth < levels_.size(); ++depth, index /= 2) {
        const std::vector<PayoutNode>& level = levels_[depth];
        const std::size_t sibling = index ^ 1;
        if (sibling >= level.size()) continue;
        path.push_back({level[sibling], payouts_[(index | 1) << depth].earner});
    }
    return path;
}

const Payout& PayoutTree::end_of_path(const Address& key) const {
    const auto above =
        std::upper_bound(payouts_.begin(), payouts_.end(), key,
                         [](const Address& a, const Payout& p) { return a < p.earner; });
    return above == payouts_.begin() ? payouts_.front() : *(above - 1);
}

std::optional<Fallen> most_fallen(const std::vector<Payout>& before,
                                  const std::vector<Payout>& after) {
    std::map<Address, Amount> has;
    for (const Payout& payout : after)
        has.emplace(payout.earner, payout.cumulative);
    std::optional<Fallen> out;
    Amount deepest;
    for (const Payout& payout : before) {
        const auto found = has.find(payout.earner);
        const Amount now = found == has.end() ? Amount() : found->second;
        const auto fall = payout.cumulative.minus(now);
        if (!fall.ok() || *fall <= deepest) continue;
        deepest = *fall;
        out = Fallen{payout.earner, payout.cumulative, now};
    }
    return out;
}

Result<PayoutNode> fold_path(const PayoutDomain& domain, const Payout& leaf, const Address& key,
                             std::span<const PayoutStep> path) {
    PayoutNode at{payout_leaf(domain, leaf), leaf.cumulative};
    for (const PayoutStep& step : path) {
        GYM_TRY(at, key < step.pivot ? parent(at, step.pivot, step.sibling)
                                     : parent(step.sibling, step.pivot, at));
    }
    return at;
}

}  // namespace gym::payouts
