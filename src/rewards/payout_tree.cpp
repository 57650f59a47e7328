#include "gym/rewards/payout_tree.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <thread>

#include "gym/crypto/keccak.hpp"

namespace gym::rewards {
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
    std::vector<Digest> leaves(payouts.size());
    in_parts(leaves.size(), threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            leaves[i] = payout_leaf(domain, payouts[i]);
    });
    PayoutTree tree;
    tree.payouts_ = std::move(payouts);
    tree.levels_.push_back(std::move(leaves));
    while (tree.levels_.back().size() > 1) {
        const std::vector<Digest>& below = tree.levels_.back();
        std::vector<Digest> level((below.size() + 1) / 2);
        in_parts(below.size() / 2, threads, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                level[i] = node(below[2 * i], below[2 * i + 1]);
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

Result<std::vector<Digest>> PayoutTree::prove(const Address& earner) const {
    GYM_TRY(std::size_t index, index_of(earner));
    std::vector<Digest> proof;
    for (const std::vector<Digest>& level : levels_) {
        const std::size_t sibling = index ^ 1;
        if (sibling < level.size()) proof.push_back(level[sibling]);
        index /= 2;
    }
    return proof;
}

std::optional<Fallen> most_fallen(const std::vector<Payout>& before,
                                  const std::vector<Payout>& after) {
    std::map<Address, Amount> had;
    for (const Payout& payout : before)
        had.emplace(payout.earner, payout.cumulative);
    std::optional<Fallen> out;
    Amount deepest;
    for (const Payout& payout : after) {
        const auto found = had.find(payout.earner);
        if (found == had.end()) continue;
        const auto fall = found->second.minus(payout.cumulative);
        if (!fall.ok() || *fall <= deepest) continue;
        deepest = *fall;
        out = Fallen{payout.earner, found->second, payout.cumulative};
    }
    return out;
}

Digest fold_proof(const Digest& leaf, std::span<const Digest> siblings) {
    Digest at = leaf;
    for (const Digest& sibling : siblings)
        at = node(at, sibling);
    return at;
}

}  // namespace gym::rewards
