#include "gym/rewards/claim_proof.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "gym/rewards/epoch_file.hpp"
#include "random.hpp"

namespace gym::rewards {
namespace {

class ProofCacheTest : public ::testing::Test {
  protected:
    /// A file of `epoch` that pays some earners, and the root that it gives.
    ActiveRoot add_epoch(std::uint64_t epoch, std::size_t earners) {
        EpochFile file;
        file.epoch = epoch;
        file.domain.chain_id = 31337;
        for (std::size_t i = 0; i < earners; ++i)
            file.payouts.push_back({any_address(random_), Amount(1 + any_u64(random_) / 2)});
        const PayoutTree tree = PayoutTree::build(file.domain, file.payouts).value();
        file.payouts = tree.payouts();
        file.payout_root = tree.root();
        files_[epoch] = encode_epoch_file(file);
        payouts_ = file.payouts;
        domain_ = file.domain;
        return {epoch, tree.root(), 5};
    }
    auto load() {
        return [this](std::uint64_t epoch) -> Result<std::string> {
            ++loads_;
            if (!files_.contains(epoch)) return fail(ErrorCode::kNotFound, "no such epoch");
            return files_.at(epoch);
        };
    }
    void expect_proofs(const ActiveRoot& root) {
        for (const Payout& payout : payouts_) {
            const auto tree = cache_.tree(root, load());
            ASSERT_TRUE(tree.ok()) << tree.error().message;
            const auto proof = claim_proof(root, **tree, payout.earner);
            ASSERT_TRUE(proof.ok()) << proof.error().message;
            EXPECT_EQ(proof->epoch, root.epoch);
            EXPECT_EQ(proof->active_at_ms, root.active_at_ms);
            EXPECT_EQ(proof->cumulative, payout.cumulative);
            EXPECT_EQ(payouts::fold_path(domain_, payout, payout.earner, proof->path)->hash,
                      root.root);
        }
    }

    std::mt19937_64 random_{12};
    std::map<std::uint64_t, std::string> files_;
    std::vector<Payout> payouts_;  ///< of the epoch that was added last
    PayoutDomain domain_;
    std::atomic<int> loads_ = 0;
    PayoutTreeCache cache_;
};

TEST_F(ProofCacheTest, ATreeIsMadeOnceAndProvesEveryEarner) {
    expect_proofs(add_epoch(1, 20));
    EXPECT_EQ(loads_, 1);
}

TEST_F(ProofCacheTest, ANewRootReplacesTheTree) {
    const ActiveRoot first = add_epoch(1, 20);
    expect_proofs(first);
    const auto kept = cache_.tree(first, load()).value();
    expect_proofs(add_epoch(2, 30));
    EXPECT_EQ(loads_, 2);
    EXPECT_EQ(kept->payouts().size(), 20U) << "who has it can read on";
    EXPECT_EQ(kept.use_count(), 1) << "nobody else keeps it";
}

TEST_F(ProofCacheTest, AnotherRootOfTheSameEpochIsNotTheSameTree) {
    expect_proofs(add_epoch(1, 20));
    expect_proofs(add_epoch(1, 20));
    EXPECT_EQ(loads_, 2);
}

TEST_F(ProofCacheTest, AFileThatDoesNotGiveTheRootIsRefused) {
    ActiveRoot root = add_epoch(1, 20);
    root.root.data[0] ^= 1;
    EXPECT_EQ(cache_.tree(root, load()).error().code, ErrorCode::kMismatch);
    root = add_epoch(1, 20);
    files_.erase(1);
    EXPECT_EQ(cache_.tree(root, load()).error().code, ErrorCode::kNotFound);
    root = add_epoch(1, 20);
    expect_proofs(root);
}

TEST_F(ProofCacheTest, WhoAskAtOnceShareOneTree) {
    const ActiveRoot root = add_epoch(1, 20'000);
    std::vector<std::shared_ptr<const PayoutTree>> trees(8);
    {
        std::vector<std::jthread> threads;
        for (auto& tree : trees)
            threads.emplace_back([&] { tree = cache_.tree(root, load()).value(); });
    }
    EXPECT_EQ(loads_, 1);
    for (const auto& tree : trees)
        EXPECT_EQ(tree, trees.front());
}

}  // namespace
}  // namespace gym::rewards
