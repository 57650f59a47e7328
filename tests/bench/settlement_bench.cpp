// The payout tree of a million earners: from unordered payouts to the root, all levels kept for
// proofs, against the same rules as plain loops on one thread. Bound: 2 s on two cores.
//
// And one proof from it, as gym-api answers a request: from the tree that PayoutTreeCache keeps,
// against reading the epoch's file and making the tree for each.
//
// Rows: settlement/payout_tree, settlement/claim_proof (seconds; lower is better).
#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <random>

#include "bench_must.hpp"
#include "bench_support.hpp"
#include "gym/crypto/keccak.hpp"
#include "gym/rewards/claim_proof.hpp"
#include "gym/rewards/epoch_file.hpp"

namespace {

using namespace gym;
using bench::must;

constexpr std::size_t kEarners = 1'000'000;

payouts::PayoutDomain some_domain() {
    payouts::PayoutDomain out;
    out.chain_id = 31337;
    out.distributor.data.fill(0x11);
    out.token.data.fill(0x22);
    return out;
}

std::vector<payouts::Payout> some_payouts() {
    std::mt19937_64 random(1);
    std::vector<payouts::Payout> out(kEarners);
    for (payouts::Payout& payout : out) {
        for (std::uint8_t& byte : payout.earner.data)
            byte = static_cast<std::uint8_t>(random());
        payout.cumulative =
            must(Amount(1 + random() / 2).mul_div(Amount(1'000'000'000), Amount(1)));
    }
    return out;
}

/// As docs/REWARDS.md says it, once more.
Digest plain_root(const payouts::PayoutDomain& domain, std::vector<payouts::Payout> payouts) {
    std::sort(payouts.begin(), payouts.end(),
              [](const auto& a, const auto& b) { return a.earner < b.earner; });
    struct Node {
        Digest hash;
        Amount sum;
        Address first;
    };
    std::vector<Node> level;
    for (const payouts::Payout& payout : payouts)
        level.push_back({payouts::payout_leaf(domain, payout), payout.cumulative, payout.earner});
    while (level.size() > 1) {
        std::vector<Node> above;
        for (std::size_t i = 0; i + 1 < level.size(); i += 2) {
            const Node &left = level[i], &right = level[i + 1];
            std::array<std::uint8_t, 32> pivot{};
            std::copy(right.first.data.begin(), right.first.data.end(), pivot.begin() + 12);
            above.push_back({crypto::keccak256({left.hash.view(), left.sum.to_be32(), pivot,
                                                right.hash.view(), right.sum.to_be32()}),
                             must(left.sum.plus(right.sum)), left.first});
        }
        if (level.size() % 2 == 1) above.push_back(level.back());
        level = std::move(above);
    }
    return level.front().hash;
}

/// Of all threads together: what the figure is made of where others use the machine, too.
double cpu_seconds(const std::function<void()>& call) {
    const std::clock_t begin = std::clock();
    call();
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

constexpr std::size_t kProofs = 10'000;

void bench_proofs(const bench::Options& options) {
    rewards::EpochFile file;
    file.epoch = 1;
    file.domain = some_domain();
    const auto tree = must(payouts::PayoutTree::build(file.domain, some_payouts()));
    file.payouts = tree.payouts();
    file.payout_root = tree.root();
    const std::string json = rewards::encode_epoch_file(file);
    const rewards::ActiveRoot root{1, tree.root(), 0};
    rewards::PayoutTreeCache cache;
    const auto load = [&](std::uint64_t) -> Result<std::string> { return json; };
    (void)must(cache.tree(root, load));
    const std::vector<std::function<void()>> calls{
        [&] {
            for (std::size_t i = 0; i < kProofs; ++i)
                (void)must(rewards::claim_proof(root, *must(cache.tree(root, load)),
                                                file.payouts[i * 97].earner));
        },
        [&] {
            const auto made = must(rewards::tree_of_file(json));
            (void)must(rewards::claim_proof(root, made, file.payouts[97].earner));
        }};
    const auto seconds = bench::interleaved_seconds(calls, options.repeats);
    const double ours = seconds[0] / kProofs;
    bench::report(options, {.name = "settlement/claim_proof/earners=1000000",
                            .ours = ours,
                            .peer = seconds[1],
                            .ratio = seconds[1] / ours,
                            .unit = "s",
                            .threads = 1,
                            .isa = std::string(isa_name(options.isa)),
                            .peer_name = "the tree made from the epoch's file for each proof",
                            .note = "the peer hashes on all threads"});
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Options options = bench::parse_options(argc, argv);
    const payouts::PayoutDomain domain = some_domain();
    const std::vector<payouts::Payout> payouts = some_payouts();
    for (const int threads : options.threads) {
        Digest root, plain;
        const std::vector<std::function<void()>> calls{
            [&] {
                root = must(payouts::PayoutTree::build(domain, payouts,
                                                       static_cast<unsigned>(threads)))
                           .root();
            },
            [&] { plain = plain_root(domain, payouts); }};
        char note[80];
        std::snprintf(note, sizeof note, "bound: 2 s on two threads; %.2f s of CPU",
                      cpu_seconds(calls[0]));
        const auto seconds = bench::interleaved_seconds(calls, options.repeats);
        if (root != plain) return 1;
        bench::report(options, {.name = "settlement/payout_tree/earners=1000000",
                                .ours = seconds[0],
                                .peer = seconds[1],
                                .ratio = seconds[1] / seconds[0],
                                .unit = "s",
                                .threads = threads,
                                .isa = std::string(isa_name(options.isa)),
                                .peer_name = "plain loops over Crypto++ Keccak-256, one thread",
                                .note = note});
    }
    bench_proofs(options);
    return 0;
}
