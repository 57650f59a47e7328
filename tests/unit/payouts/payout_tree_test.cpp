#include "gym/payouts/payout_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "gym/crypto/keccak.hpp"

namespace gym::payouts {
namespace {

const PayoutDomain kDomain = {31337, *Address::parse("0x1111111111111111111111111111111111111111"),
                              *Address::parse("0x2222222222222222222222222222222222222222")};

Address any_address(std::mt19937_64& random) {
    Address out;
    for (std::uint8_t& byte : out.data)
        byte = static_cast<std::uint8_t>(random());
    return out;
}

std::vector<Payout> some_payouts(std::mt19937_64& random, std::size_t n) {
    std::vector<Payout> payouts;
    for (std::size_t i = 0; i < n; ++i)
        payouts.push_back({any_address(random), Amount(1 + (random() >> (random() % 64)) / 2)});
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
            const auto path = tree->prove(payout.earner);
            ASSERT_TRUE(path.ok());
            EXPECT_EQ(*fold_path(kDomain, payout, payout.earner, *path),
                      (PayoutNode{tree->root(), tree->total()}));
            EXPECT_LE(path->size(), 6u);
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
            EXPECT_EQ(fold_path(kDomain, payout, payout.earner, *one->prove(payout.earner))->hash,
                      one->root());
        }
    }
}

TEST(PayoutTree, AnInnerNodeIsTheHashOfBothSidesTheirSumsAndThePivot) {
    const Payout low = {*Address::parse("0x3333333333333333333333333333333333333333"), Amount(7)};
    const Payout high = {*Address::parse("0x4444444444444444444444444444444444444444"), Amount(9)};
    Bytes encoded;
    const auto append = [&](const auto& bytes) {
        encoded.insert(encoded.end(), bytes.begin(), bytes.end());
    };
    append(payout_leaf(kDomain, low).data);
    append(Amount(7).to_be32());
    append(Bytes(12));
    append(high.earner.data);
    append(payout_leaf(kDomain, high).data);
    append(Amount(9).to_be32());
    const auto tree = PayoutTree::build(kDomain, {high, low});
    EXPECT_EQ(tree->root(), crypto::keccak256(encoded));
    EXPECT_EQ(tree->total(), Amount(16));
}

TEST(PayoutTree, AnyChangeOfTheLeafOrThePathMissesTheRoot) {
    std::mt19937_64 random(8);
    const auto tree = PayoutTree::build(kDomain, some_payouts(random, 9));
    const Payout payout = tree->payouts()[4];
    const PayoutPath path = *tree->prove(payout.earner);
    const auto misses = [&](const PayoutDomain& domain, const Payout& other,
                            const PayoutPath& steps) {
        const auto found = fold_path(domain, other, other.earner, steps);
        return !found.ok() || *found != PayoutNode{tree->root(), tree->total()};
    };
    EXPECT_FALSE(misses(kDomain, payout, path));
    EXPECT_TRUE(misses(kDomain, {payout.earner, *payout.cumulative.plus(Amount(1))}, path));
    EXPECT_TRUE(misses(kDomain, {tree->payouts()[3].earner, payout.cumulative}, path));
    PayoutDomain other = kDomain;
    other.chain_id = 1;
    EXPECT_TRUE(misses(other, payout, path));
    other = kDomain;
    other.distributor = kDomain.token;
    EXPECT_TRUE(misses(other, payout, path));
    other = kDomain;
    other.token = kDomain.distributor;
    EXPECT_TRUE(misses(other, payout, path));
    for (std::size_t i = 0; i < path.size(); ++i) {
        PayoutPath bent = path;
        bent[i].sibling.hash.data[31] ^= 1;
        EXPECT_TRUE(misses(kDomain, payout, bent));
        bent = path;
        bent[i].sibling.sum = *bent[i].sibling.sum.plus(Amount(1));
        EXPECT_TRUE(misses(kDomain, payout, bent));
        bent = path;
        bent[i].pivot.data[19] ^= 1;
        EXPECT_TRUE(misses(kDomain, payout, bent));
    }
    PayoutPath shorter = path;
    shorter.pop_back();
    EXPECT_TRUE(misses(kDomain, payout, shorter));
    PayoutPath longer = path;
    longer.push_back({{tree->root(), tree->total()}, payout.earner});
    EXPECT_TRUE(misses(kDomain, payout, longer));
}

// An address that is not in a tree has a path, too, which ends at somebody else's leaf.
TEST(PayoutTree, ThePathOfAnyAddressEndsAtOneLeaf) {
    std::mt19937_64 random(13);
    for (std::size_t n = 1; n <= 20; ++n) {
        const auto tree = PayoutTree::build(kDomain, some_payouts(random, n));
        for (int i = 0; i < 50; ++i) {
            const Address key = any_address(random);
            const Payout& end = tree->end_of_path(key);
            EXPECT_NE(end.earner, key);
            EXPECT_EQ(*fold_path(kDomain, end, key, *tree->prove(end.earner)),
                      (PayoutNode{tree->root(), tree->total()}));
        }
        for (const Payout& payout : tree->payouts())
            EXPECT_EQ(tree->end_of_path(payout.earner), payout);
    }
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
    payouts = some_payouts(random, 3);
    payouts[1].cumulative = *Amount::parse(
        "115792089237316195423570985008687907853269984665640564039457584007913129639935");
    EXPECT_FALSE(PayoutTree::build(kDomain, payouts).ok());
    const auto tree = PayoutTree::build(kDomain, some_payouts(random, 3));
    EXPECT_EQ(tree->prove(Address{}).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(tree->cumulative_of(Address{}).error().code, ErrorCode::kNotFound);
}

TEST(MostFallen, NamesTheDeepestFallAndWhoIsLeftOut) {
    std::mt19937_64 random(11);
    const std::vector<Payout> before = some_payouts(random, 5);
    std::vector<Payout> after = before;
    EXPECT_EQ(most_fallen(before, after), std::nullopt);
    after.push_back({any_address(random), Amount(1)});
    after[0].cumulative = *after[0].cumulative.plus(Amount(1));
    EXPECT_EQ(most_fallen(before, after), std::nullopt) << "who is new or has more did not fall";
    for (const auto& [index, wei] : {std::pair{1, 5}, {2, 7}, {3, 6}}) {
        Amount& amount = after[static_cast<std::size_t>(index)].cumulative;
        amount = *amount.minus(Amount(static_cast<std::uint64_t>(wei)));
    }
    std::shuffle(after.begin(), after.end(), random);
    auto fallen = most_fallen(before, after);
    ASSERT_TRUE(fallen);
    EXPECT_EQ(fallen->earner, before[2].earner);
    EXPECT_EQ(fallen->before, before[2].cumulative);
    EXPECT_EQ(fallen->before.minus(fallen->after).value(), Amount(7));
    std::erase_if(after, [&](const Payout& p) { return p.earner == before[4].earner; });
    fallen = most_fallen(before, after);
    ASSERT_TRUE(fallen);
    EXPECT_EQ(*fallen, (Fallen{before[4].earner, before[4].cumulative, Amount()}));
}

}  // namespace
}  // namespace gym::payouts
