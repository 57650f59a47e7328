#include "gym/rewards/order_check.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <utility>

namespace gym::rewards {
namespace {

using registry::StoredOrder;

const records::OrderNetwork kNetwork{31'337, Address{{0xee}}};

crypto::PrivateKey key(std::uint8_t last) {
    std::array<std::uint8_t, 32> secret{};
    secret.back() = last;
    return crypto::PrivateKey::from_bytes(secret).value();
}
Digest digest(std::uint8_t byte) {
    Digest out;
    out.data.fill(byte);
    return out;
}
const Digest kJob = digest(0xaa);

class OneJob final : public FactSource {
  public:
    Result<JobFacts> job(const Digest& id) override {
        if (id == kJob) return facts;
        return fail(ErrorCode::kNotFound, "no job " + id.hex());
    }
    Result<std::vector<UnitFacts>> units(const Digest&, std::uint64_t) override {
        return std::vector<UnitFacts>();
    }
    Result<std::vector<Address>> accepted_reports(const Digest&) override {
        return std::vector<Address>();
    }
    Result<std::vector<registry::Prefix>> prefixes(const Digest&, std::uint64_t) override {
        return std::vector<registry::Prefix>();
    }
    Result<std::optional<CreditState>> waiting_credit(const Digest&) override {
        return std::optional<CreditState>();
    }
    JobFacts facts;
};

/// Two epochs, in which the job paid 60 and 50 wei, by an order for 100 and one for 10 more.
class OrderCheck : public ::testing::Test {
  protected:
    OrderCheck() {
        source_.facts.owner = key(1).address();
        source_.facts.price_wei_per_pflop = Amount(7);
        source_.facts.data_price_wei_per_mtoken = Amount(3);
        source_.facts.orders = {job_order(), funding()};
        files_[0].credits = {paid(60)};
        files_[1].credits = {paid(50)};
    }
    static StoredOrder job_order(
        const std::function<void(records::JobOrder&)>& change = [](records::JobOrder&) {},
        std::uint8_t signer = 1) {
        records::JobOrder order{.owner = key(signer).address(),
                                .spec = digest(1),
                                .datasets = {digest(2)},
                                .budget_wei = Amount(100),
                                .price_wei_per_pflop = Amount(7),
                                .max_data_price_wei = Amount(3),
                                .nonce = digest(4),
                                .expiry_s = 9};
        change(order);
        StoredOrder out;
        out.job = kJob;
        out.seal = records::seal_order(kNetwork, order, key(signer));
        out.terms = order;
        out.state = registry::OrderState::kLocked;
        return out;
    }
    static StoredOrder funding() {
        const records::JobFunding order{key(1).address(), kJob, Amount(10), digest(5), 9};
        StoredOrder out;
        out.job = kJob;
        out.seal = records::seal_order(kNetwork, order, key(1));
        out.terms = order;
        out.state = registry::OrderState::kLocked;
        return out;
    }
    static Credit paid(std::uint64_t amount) {
        Credit out;
        out.job_id = kJob;
        out.amount = Amount(amount);
        return out;
    }
    void expect_named(const std::string& sentence) {
        const auto found = check_orders(files_, source_, kNetwork, read_lock_);
        ASSERT_TRUE(found.ok()) << found.error().message;
        ASSERT_FALSE(found->empty()) << sentence;
        EXPECT_NE(found->front().find(sentence), std::string::npos) << found->front();
        EXPECT_TRUE(found->front().starts_with("job " + kJob.hex())) << found->front();
    }

    OneJob source_;
    ReadLock read_lock_ = [](const StoredOrder& order) -> Result<Amount> { return order.amount(); };
    std::vector<EpochFile> files_ = std::vector<EpochFile>(2);
};

TEST_F(OrderCheck, WhatOwnersSignedForIsFine) {
    EXPECT_EQ(check_orders(files_, source_, kNetwork, read_lock_).value(),
              std::vector<std::string>());
    source_.facts.orders.push_back(funding());
    source_.facts.orders.back().state = registry::OrderState::kRefused;
    source_.facts.orders.back().seal.signature.data.fill(0);
    EXPECT_TRUE(check_orders(files_, source_, kNetwork, read_lock_)->empty()) << "no money moved";
    files_[1].credits.front().payer = key(3).address();
    source_.facts.orders.clear();
    EXPECT_TRUE(check_orders(files_, source_, kNetwork, read_lock_)->empty())
        << "emission is not the job's";
}

TEST_F(OrderCheck, EveryLieIsNamed) {
    auto& orders = source_.facts.orders;
    orders.clear();
    expect_named("there is no order of its owner");
    orders = {job_order(), funding()};
    const ReadLock honest =
        std::exchange(read_lock_, [](const StoredOrder&) -> Result<Amount> { return Amount(99); });
    expect_named("the chain locked 99 wei by an order for 100");
    read_lock_ = honest;
    orders[0].seal.signature.data[3] ^= 1;
    expect_named("the order is not signed by its owner");
    orders = {job_order(), funding()};
    std::get<records::JobOrder>(orders[0].terms).budget_wei = Amount(1'000);
    expect_named("the order is not signed by its owner");
    orders = {job_order([](records::JobOrder&) {}, 2), funding()};
    expect_named("the job belongs to " + key(1).address().hex());
    orders = {job_order([](records::JobOrder& o) { o.price_wei_per_pflop = Amount(6); }),
              funding()};
    expect_named("its price is 7, its owner signed 6");
    orders = {job_order([](records::JobOrder& o) { o.max_data_price_wei = Amount(2); }), funding()};
    expect_named("its data costs 3, its owner signed for 2 at the most");
    orders = {job_order()};
    expect_named("it paid 110 wei, its owner signed for 100");
    orders = {job_order(), funding()};
    const auto other = check_orders(files_, source_, {1, kNetwork.escrow}, read_lock_);
    ASSERT_FALSE(other->empty());
    EXPECT_NE(other->front().find("this network is chain 1"), std::string::npos);
}

}  // namespace
}  // namespace gym::rewards
