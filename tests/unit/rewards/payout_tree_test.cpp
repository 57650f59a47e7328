#include "gym/rewards/payout_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "gym/crypto/keccak.hpp"
#include "random.hpp"

namespace gym::rewards {
namespace {

const PayoutDomain kDomain = {31337, *Address::parse("0x1111111111111111111111111111111111111111"),
                              *Address::parse("0x2222222222222222222222222222222222222222")};

std::vector<Payout> some_payouts(std::mt19937_64& random, std::size_t n) {
    std::vector<Payout> payouts;
    for (std::size_t i = 0; i < n; ++i)
        payouts.push_back({any_address(random), Amount(1 + any_u64(random) / 2)});
    return payouts;
}

TEST(PayoutLeaf, HashesTheAbiEncodingTwice) {
    const Payout payout = {*Address::parse("0x3333333333333333333333333333333333333333"),
                           Amount(0x0102)};
    const Bytes encoded = *from_hex(
        "0000000000000000000000000000000000000000000000000000000000007a69"
        "0000000000000000000000001111111111111111111111111111111111111111"
        "0000000000000000000000002222222222222222222222222222222222222222"
        "0000000000000000000000003333333333333333333333333333333333333333"
        "0000000000000000000000000000000000000000000000000000000000000102");
    EXPECT_EQ(payout_leaf(kDomain, payout), crypto::keccak256(crypto::keccak256(encoded).view()));
}

TEST(PayoutTree, ProvesEveryEarnerForEverySize) {
    std::mt19937_64 random(7);
    for (std::size_t n = 1; n <= 40; ++n) {
        const auto tree = PayoutTree::build(kDomain, some_payouts(random, n));
        ASSERT_TRUE(tree.ok());
        for (const Payout& payout : tree->payouts()) {
            const auto proof = tree->prove(payout.earner);
            ASSERT_TRUE(proof.ok());
            EXPECT_EQ(fold_proof(payout_leaf(kDomain, payout), *proof), tree->root());
            EXPECT_LE(proof->size(), 6u);
        }
    }
}

// Sizes around where parts of a level go to threads.
TEST(PayoutTree, IsTheSameOnAnyNumberOfThreads) {
    std::mt19937_64 random(9);
    for (const std::size_t n : {2U, 8'191U, 8'192U, 20'001U}) {
        const auto payouts = some_payouts(random, n);
        const auto one = PayoutTree::build(kDomain, payouts, 1);
        ASSERT_TRUE(one.ok());
        for (const unsigned threads : {0U, 2U, 3U, 1'000U}) {
            const auto many = PayoutTree::build(kDomain, payouts, threads);
            EXPECT_EQ(many->root(), one->root()) << n << " on " << threads;
        }
        for (const std::size_t i : {std::size_t{0}, n / 2, n - 1}) {
            const Payout& payout = one->payouts()[i];
            EXPECT_EQ(fold_proof(payout_leaf(kDomain, payout), *one->prove(payout.earner)),
                      one->root());
        }
    }
}

TEST(PayoutTree, AnyChangeOfTheLeafOrTheProofMissesTheRoot) {
    std::mt19937_64 random(8);
    const auto tree = PayoutTree::build(kDomain, some_payouts(random, 9));
    const Payout payout = tree->payouts()[4];
    const auto proof = *tree->prove(payout.earner);
    const auto misses = [&](const PayoutDomain& domain, const Payout& other,
                            std::vector<Digest> siblings) {
        return fold_proof(payout_leaf(domain, other), siblings) != tree->root();
    };
    EXPECT_TRUE(misses(kDomain, {payout.earner, *payout.cumulative.plus(Amount(1))}, proof));
    EXPECT_TRUE(misses(kDomain, {tree->payouts()[3].earner, payout.cumulative}, proof));
    PayoutDomain other = kDomain;
    other.chain_id = 1;
    EXPECT_TRUE(misses(other, payout, proof));
    other = kDomain;
    other.distributor = kDomain.token;
    EXPECT_TRUE(misses(other, payout, proof));
    other = kDomain;
    other.token = kDomain.distributor;
    EXPECT_TRUE(misses(other, payout, proof));
    for (std::size_t i = 0; i < proof.size(); ++i) {
        auto bent = proof;
        bent[i].data[31] ^= 1;
        EXPECT_TRUE(misses(kDomain, payout, bent));
    }
    auto shorter = proof;
    shorter.pop_back();
    EXPECT_TRUE(misses(kDomain, payout, shorter));
    auto longer = proof;
    longer.push_back(tree->root());
    EXPECT_TRUE(misses(kDomain, payout, longer));
}

TEST(PayoutTree, DoesNotDependOnTheOrderOfItsPayouts) {
    std::mt19937_64 random(9);
    auto payouts = some_payouts(random, 17);
    const Digest root = PayoutTree::build(kDomain, payouts)->root();
    std::shuffle(payouts.begin(), payouts.end(), random);
    EXPECT_EQ(PayoutTree::build(kDomain, payouts)->root(), root);
}

TEST(PayoutTree, RefusesWhatNoRootMayPay) {
    std::mt19937_64 random(10);
    auto payouts = some_payouts(random, 3);
    EXPECT_FALSE(PayoutTree::build(kDomain, {}).ok());
    payouts[1].cumulative = Amount(0);
    EXPECT_FALSE(PayoutTree::build(kDomain, payouts).ok());
    payouts = some_payouts(random, 3);
    payouts[2].earner = payouts[0].earner;
    EXPECT_FALSE(PayoutTree::build(kDomain, payouts).ok());
    const auto tree = PayoutTree::build(kDomain, some_payouts(random, 3));
    EXPECT_EQ(tree->prove(Address{}).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(tree->cumulative_of(Address{}).error().code, ErrorCode::kNotFound);
}

TEST(MostFallen, NamesTheDeepestFallOfWhoIsInBoth) {
    std::mt19937_64 random(11);
    const std::vector<Payout> before = some_payouts(random, 5);
    std::vector<Payout> after = before;
    EXPECT_EQ(most_fallen(before, after), std::nullopt);
    after.push_back({any_address(random), Amount(1)});
    after[0].cumulative = *after[0].cumulative.plus(Amount(1));
    EXPECT_EQ(most_fallen(before, after), std::nullopt) << "who is new or has more did not fall";
    after.erase(after.begin() + 1);
    EXPECT_EQ(most_fallen(before, after), std::nullopt) << "who is left out has no leaf";
    for (const auto& [index, wei] : {std::pair{1, 5}, {2, 7}, {3, 6}}) {
        Amount& amount = after[static_cast<std::size_t>(index)].cumulative;
        amount = *amount.minus(Amount(static_cast<std::uint64_t>(wei)));
    }
    std::shuffle(after.begin(), after.end(), random);
    const auto fallen = most_fallen(before, after);
    ASSERT_TRUE(fallen);
    EXPECT_EQ(fallen->earner, before[3].earner);
    EXPECT_EQ(fallen->before, before[3].cumulative);
    EXPECT_EQ(fallen->before.minus(fallen->after).value(), Amount(7));
}

}  // namespace
}  // namespace gym::rewards
