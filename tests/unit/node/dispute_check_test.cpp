// Which answers of a chain's node are the last word about the game's contract.

#include "dispute_check.hpp"

#include <gtest/gtest.h>

#include "sim_chain.hpp"

namespace gym::node {
namespace {

const Address kGame = Address::parse("0x" + std::string(40, '7')).value();

records::NetworkDescription network() {
    records::NetworkDescription out;
    out.chain_id = testing::SimChain::kChainId;
    return out;
}

TEST(DisputeCheck, ANodeThatIsBehindHasNoLastWord) {
    testing::SimChain chain;  // its blocks are years old
    const Status found = check_game(chain, kGame, network());
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code, ErrorCode::kUnavailable) << found.error().message;
    EXPECT_NE(found.error().message.find("there is no contract at dispute_game"),
              std::string::npos);
    EXPECT_NE(found.error().message.find("the node is behind"), std::string::npos);
}

TEST(DisputeCheck, WhatTheEndpointRefusesIsAskedAgain) {
    testing::SimChain chain;
    chain.fault = [](const char*) {
        return std::optional(fail(ErrorCode::kInternal, "error -32603"));
    };
    const Status found = check_game(chain, kGame, network());
    ASSERT_FALSE(found.ok());
    EXPECT_FALSE(is_lasting(found.error().code)) << found.error().message;
}

TEST(DisputeCheck, AnotherChainOrAnotherWordOfTheCoordinatorLasts) {
    testing::SimChain chain;
    records::NetworkDescription other = network();
    other.chain_id = 1;
    EXPECT_TRUE(is_lasting(check_game(chain, kGame, other).error().code));
    other.dispute_game = kGame;
    EXPECT_TRUE(check_named(kGame, {}, other).ok());
    EXPECT_TRUE(is_lasting(check_named({}, {}, other).error().code));
}

TEST(DisputeCheck, AVerifierThatNeedsStakeHasToPlay) {
    records::NetworkDescription asks = network();
    EXPECT_TRUE(check_defends_no_reports(asks).ok());
    asks.minimum_verifier_stake = Amount::parse_tokens("100").value();
    const Status refused = check_defends_no_reports(asks);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.error().message.find("draws verifiers from a stake of 100 GYM on"),
              std::string::npos);
    EXPECT_NE(refused.error().message.find("Set dispute_game"), std::string::npos);
}

}  // namespace
}  // namespace gym::node
