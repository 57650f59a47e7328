#include "gym/records/order.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace gym::records {
namespace {

crypto::PrivateKey key(std::uint8_t last) {
    std::array<std::uint8_t, 32> secret{};
    secret.back() = last;
    return crypto::PrivateKey::from_bytes(secret).value();
}

Digest digest(std::uint8_t last) {
    Digest out;
    out.data.back() = last;
    return out;
}

OrderNetwork network() {
    OrderNetwork out{31'337, {}};
    out.escrow.data.back() = 0xee;
    return out;
}

JobOrder order() {
    return {.owner = key(1).address(),
            .spec = spec_digest("name: x\n"),
            .datasets = {digest(2), digest(3)},
            .budget_wei = Amount(4),
            .price_wei_per_pflop = Amount(5),
            .max_data_price_wei = Amount(6),
            .nonce = order_nonce("k"),
            .expiry_s = 1'000};
}

JobFunding funding() {
    return {.owner = key(1).address(),
            .job = digest(7),
            .amount_wei = Amount(8),
            .nonce = order_nonce("k"),
            .expiry_s = 1'000};
}

TEST(Order, ItsOwnersSealIsAccepted) {
    EXPECT_TRUE(check_seal(network(), order(), seal_order(network(), order(), key(1))).ok());
    EXPECT_TRUE(check_seal(network(), funding(), seal_order(network(), funding(), key(1))).ok());
}

// What `cast wallet sign --data` of Foundry makes of the same members with the same key.
TEST(Order, AWalletMakesTheSameSignatures) {
    EXPECT_EQ(seal_order(network(), order(), key(1)).signature.hex(),
              "0xe5b98f81fd960b547aa51a6b72e0c6257234c030c605a4670242ea485d76698b369dfe6981ad4d32c3"
              "7b26c6a5eea4ee0463111f6d7f1f1a888d60bca24cac671c");
    EXPECT_EQ(seal_order(network(), funding(), key(1)).signature.hex(),
              "0xd472f0426298804bb167dff6c7fd91e0344ca462f514c8757f485647ab9321d23e1b0458112c5f9eb5"
              "b1485319115f51fdd66b1a6c4f22c778a09a7292e6bcb91b");
}

TEST(Order, EveryMemberIsSigned) {
    const OrderSeal seal = seal_order(network(), order(), key(1));
    const std::vector<std::function<void(JobOrder&)>> changes{
        [](JobOrder& o) { o.spec = spec_digest("name: x"); },
        [](JobOrder& o) { o.datasets.pop_back(); },
        [](JobOrder& o) { std::swap(o.datasets[0], o.datasets[1]); },
        [](JobOrder& o) { o.budget_wei = Amount(5); },
        [](JobOrder& o) { o.price_wei_per_pflop = Amount(6); },
        [](JobOrder& o) { o.max_data_price_wei = Amount(7); },
        [](JobOrder& o) { o.nonce = order_nonce("l"); },
        [](JobOrder& o) { o.owner = key(2).address(); },
    };
    for (std::size_t i = 0; i < changes.size(); ++i) {
        JobOrder other = order();
        changes[i](other);
        const Status checked = check_seal(network(), other, seal);
        ASSERT_FALSE(checked.ok()) << i;
        EXPECT_EQ(checked.error().code, ErrorCode::kPermissionDenied) << i;
    }
    OrderSeal later = seal;
    ++later.expiry_s;
    EXPECT_FALSE(check_seal(network(), order(), later).ok());
    OrderSeal flipped = seal;
    flipped.signature.data[3] ^= 1;
    EXPECT_FALSE(check_seal(network(), order(), flipped).ok());
    JobFunding more = funding();
    const OrderSeal funded = seal_order(network(), funding(), key(1));
    more.amount_wei = Amount(9);
    EXPECT_FALSE(check_seal(network(), more, funded).ok());
    more = funding();
    more.job = digest(8);
    EXPECT_FALSE(check_seal(network(), more, funded).ok());
}

TEST(Order, AnotherSignerIsNamed) {
    JobOrder theirs = order();
    theirs.owner = key(2).address();
    const Status checked = check_seal(network(), order(), seal_order(network(), theirs, key(2)));
    ASSERT_FALSE(checked.ok());
    EXPECT_NE(checked.error().message.find(key(1).address().hex()), std::string::npos);
    EXPECT_EQ(check_seal(network(), order(), OrderSeal{network(), 0, {}}).error().code,
              ErrorCode::kPermissionDenied);
}

TEST(Order, AnOrderForAnotherNetworkIsRefusedWithBothNames) {
    for (const bool other_chain : {true, false}) {
        OrderNetwork other = network();
        if (other_chain)
            ++other.chain_id;
        else
            ++other.escrow.data[0];
        const Status checked = check_seal(network(), order(), seal_order(other, order(), key(1)));
        ASSERT_FALSE(checked.ok());
        EXPECT_EQ(checked.error().code, ErrorCode::kMismatch);
        EXPECT_NE(checked.error().message.find("this network is chain 31337"), std::string::npos);
        // Nor does it help to say that it is for this network.
        OrderSeal relabelled = seal_order(other, order(), key(1));
        relabelled.network = network();
        EXPECT_EQ(check_seal(network(), order(), relabelled).error().code,
                  ErrorCode::kPermissionDenied);
    }
}

TEST(Order, TimeIsLimitedOnBothSides) {
    OrderSeal seal;
    seal.expiry_s = 1'000;
    EXPECT_TRUE(check_expiry(seal, 1'000'999).ok());
    EXPECT_FALSE(check_expiry(seal, 1'001'000).ok());
    seal.expiry_s = 1'000 + kOrderLifetimeSecondsMax;
    EXPECT_TRUE(check_expiry(seal, 1'000'000).ok());
    ++seal.expiry_s;
    EXPECT_EQ(check_expiry(seal, 1'000'000).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace gym::records
