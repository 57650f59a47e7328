// Messages about missing stake and gas.

#include "gym/node/funding.hpp"

#include <gtest/gtest.h>

#include "gym/crypto/key.hpp"

namespace gym::node {
namespace {

Funding lacking(const char* stake, const char* tokens, const char* ether) {
    Funding out;
    out.address.data.fill(0x11);
    out.chain_id = 5;
    out.stake = Amount::parse_tokens(stake).value();
    out.tokens = Amount::parse_tokens(tokens).value();
    out.ether = Amount::parse_tokens(ether).value();
    return out;
}

TEST(Funding, ACompleteOneNeedsNoWords) {
    EXPECT_TRUE(lacking("0", "0", "0").is_complete());
    EXPECT_EQ(describe(lacking("0", "0", "0"), ""), "");
}

TEST(Funding, SaysWhatToSendWhereToAndWhatToRunThen) {
    const std::string to =
        " to " + crypto::to_checksum(lacking("0", "0", "0").address) + " on chain 5";
    EXPECT_EQ(describe(lacking("100", "100", "0.02"), ""),
              "send at least 100 GYM and 0.02 ether" + to + "; then `gym stake add 100`");
    EXPECT_EQ(describe(lacking("100", "40", "0"), " --data-dir /d"),
              "send at least 40 GYM" + to + "; then `gym stake add 100 --data-dir /d`");
    EXPECT_EQ(describe(lacking("100", "0", "0.5"), ""),
              "send at least 0.5 ether" + to + "; then `gym stake add 100`");
    EXPECT_EQ(describe(lacking("0", "0", "0.5"), ""),
              "send at least 0.5 ether" + to + ": one dispute may cost that much gas");
    EXPECT_NE(describe(lacking("100", "0", "0"), "").find("run `gym stake add 100`"),
              std::string::npos);
}

TEST(Funding, WithoutAChainOnlyTheNetworksStakeIsKnown) {
    records::NetworkDescription network;
    EXPECT_EQ(funding_advice({}, network, {}), "");
    network.minimum_stake = Amount::parse_tokens("100").value();
    const std::string advice = funding_advice({}, network, {});
    EXPECT_NE(advice.find("from a stake of 100 GYM on"), std::string::npos) << advice;
    EXPECT_NE(advice.find("--chain-rpc"), std::string::npos) << advice;
    NodeConfig config;
    config.chain_rpc = "http://127.0.0.1:1";
    EXPECT_EQ(funding_advice(config, network, {}), "") << "no contract to stake in is named";
    network.stake.data.fill(1);
    EXPECT_NE(funding_advice(config, network, {}).find("not known: "), std::string::npos);
}

}  // namespace
}  // namespace gym::node
