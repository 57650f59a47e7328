// What a node takes from the network that its user stored.
#include "gym/node/stored_network.hpp"

#include <gtest/gtest.h>

#include "sample_profile.hpp"
#include "temporary_folder.hpp"

namespace gym::node {
namespace {

using profile::testing::operator_key;
using profile::testing::sample_address;
using profile::testing::sample_profile;

class StoredNetworkTest : public ::testing::Test {
  protected:
    void SetUp() override {
        config_.data_dir = place_.path() / "mine";
        add("main");
    }
    void add(const std::string& name) {
        profile::StoredNetwork network;
        network.name = name;
        network.url = "https://api.example.org";
        network.chain_rpc = "http://127.0.0.1:8545/key";
        profile::NetworkProfile described = sample_profile();
        described.coordinator = name + ".example.org:7600";
        network.signed_profile = sign(described, operator_key());
        const profile::Store store({config_.data_dir});
        ASSERT_TRUE(store.save(network).ok());
        ASSERT_TRUE(store.set_default("main").ok());
    }
    const gym::testing::TemporaryFolder place_;
    NodeConfig config_;
};

TEST_F(StoredNetworkTest, TheDefaultNetworkFillsInWhatIsNotSaid) {
    const Status used = use_network(config_);
    ASSERT_TRUE(used.ok()) << used.error().message;
    EXPECT_EQ(config_.network, "main");
    EXPECT_EQ(config_.coordinator, "main.example.org:7600");
    EXPECT_EQ(config_.tls_ca_file, profile::kSystemCa);
    EXPECT_EQ(config_.chain_id, 5U);
    EXPECT_EQ(config_.chain_rpc, "http://127.0.0.1:8545/key");
    EXPECT_EQ(config_.commitment_log, sample_address(4).hex());
    EXPECT_EQ(config_.dispute_game, sample_address(6).hex());
    EXPECT_EQ(config_.api, "https://api.example.org");
}

TEST_F(StoredNetworkTest, WhatIsSaidStays) {
    config_.network = "main";
    config_.coordinator = "127.0.0.1:1";
    config_.tls_ca_file = "own.pem";
    config_.chain_rpc = "http://127.0.0.1:2";
    config_.api = "http://127.0.0.1:3";
    ASSERT_TRUE(use_network(config_).ok());
    EXPECT_EQ(config_.coordinator, "127.0.0.1:1");
    EXPECT_EQ(config_.tls_ca_file, "own.pem");
    EXPECT_EQ(config_.chain_rpc, "http://127.0.0.1:2");
    EXPECT_EQ(config_.api, "http://127.0.0.1:3");
    EXPECT_EQ(config_.dispute_game, sample_address(6).hex());
}

TEST_F(StoredNetworkTest, ACoordinatorAloneIsAnotherNetwork) {
    config_.coordinator = "127.0.0.1:1";
    ASSERT_TRUE(use_network(config_).ok());
    EXPECT_EQ(config_.network, "");
    EXPECT_EQ(config_.chain_rpc, "");
    EXPECT_EQ(config_.dispute_game, "");
}

TEST_F(StoredNetworkTest, ANamedNetworkTakesThePlaceOfTheFiles) {
    add("other");
    config_.coordinator = "127.0.0.1:1";
    config_.tls_ca_file = "own.pem";
    config_.chain_id = 9;
    config_.dispute_game = sample_address(9).hex();
    forget_network(config_);
    config_.network = "other";
    ASSERT_TRUE(use_network(config_).ok());
    EXPECT_EQ(config_.coordinator, "other.example.org:7600");
    EXPECT_EQ(config_.tls_ca_file, profile::kSystemCa);
    EXPECT_EQ(config_.chain_id, 5U);
    EXPECT_EQ(config_.dispute_game, sample_address(6).hex());
}

TEST_F(StoredNetworkTest, AnUnknownNameSaysWhichNetworksAreStored) {
    config_.network = "nowhere";
    const Status used = use_network(config_);
    ASSERT_FALSE(used.ok());
    EXPECT_EQ(used.error().code, ErrorCode::kNotFound);
    EXPECT_NE(used.error().message.find("there is only main"), std::string::npos)
        << used.error().message;
}

}  // namespace
}  // namespace gym::node
