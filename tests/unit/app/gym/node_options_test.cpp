// The options that every command of a node has.

#include "node/node_options.hpp"

#include "cli/network_options.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>

#include "gym/common/file.hpp"
#include "sample_profile.hpp"
#include "temporary_folder.hpp"

namespace gym::app {
namespace {

/// The options as the command line `arguments` sets them.
class NodeCommand {
  public:
    explicit NodeCommand(const std::string& arguments) {
        options_.add_to(command_);
        command_.parse(arguments);
    }

    [[nodiscard]] const NodeOptions& options() const { return options_; }
    [[nodiscard]] node::NodeConfig config(const NodeSources& sources = {}) const {
        auto config = options_.resolve(sources);
        EXPECT_TRUE(config.ok()) << config.error().message;
        return config.ok() ? *std::move(config) : node::NodeConfig();
    }

  private:
    CLI::App command_{"test"};
    NodeOptions options_;
};

constexpr const char* kEveryOption =
    " --coordinator c:1 --tls-ca ca.pem --insecure --chain-rpc http://e:2 --commitment-log 0x1"
    " --dispute-game 0x2 --checkpoint-seconds 7 --data-dir /d --keystore k.json"
    " --passphrase-file p --threads 3 --isa avx2 --device cuda:1 --api http://a:3";

TEST(NodeOptions, EveryOptionOverridesItsKey) {
    const node::NodeConfig config = NodeCommand(kEveryOption).config();
    EXPECT_EQ(config.coordinator, "c:1");
    EXPECT_EQ(config.tls_ca_file, "ca.pem");
    EXPECT_TRUE(config.insecure);
    EXPECT_EQ(config.chain_rpc, "http://e:2");
    EXPECT_EQ(config.commitment_log, "0x1");
    EXPECT_EQ(config.dispute_game, "0x2");
    EXPECT_EQ(config.checkpoint_s, 7U);
    EXPECT_EQ(config.data_dir, "/d");
    EXPECT_EQ(config.keystore_file, "k.json");
    EXPECT_EQ(config.passphrase_file, "p");
    EXPECT_EQ(config.threads, 3U);
    EXPECT_EQ(config.isa, "avx2");
    EXPECT_EQ(config.device, "cuda:1");
    EXPECT_EQ(config.api, "http://a:3");
}

TEST(NodeOptions, AnotherCommandGetsEveryGivenOption) {
    EXPECT_EQ(NodeCommand(kEveryOption).options().given(), kEveryOption);
    EXPECT_EQ(NodeCommand("--checkpoint-seconds 0").options().given(), " --checkpoint-seconds 0");
    EXPECT_EQ(NodeCommand("--config /etc/worker.yaml --network n --threads 2").options().given(),
              " --config /etc/worker.yaml --network n --threads 2");
}

TEST(NodeOptions, AnotherCommandGetsWordsThatAShellDoesNotSplit) {
    EXPECT_EQ(NodeCommand("--data-dir \"/my node\" --keystore a'b").options().given(),
              " --data-dir '/my node' --keystore 'a'\\''b'");
}

/// With a home of its own, in which networks can be stored.
class StoredNetworks : public ::testing::Test {
  protected:
    void SetUp() override { ::setenv("GYM_HOME", home().c_str(), 1); }
    void TearDown() override { ::unsetenv("GYM_HOME"); }

    [[nodiscard]] std::filesystem::path home() const { return place_ / "home"; }
    /// The coordinator is NAME:7600, by which a test sees which network was used.
    void add(const std::string& name, const std::filesystem::path& data_dir, bool as_default) {
        profile::NetworkProfile profile = profile::testing::sample_profile();
        profile.coordinator = name + ":7600";
        profile::StoredNetwork network;
        network.name = name;
        network.url = "http://127.0.0.1:1";
        network.chain_rpc = profile.chain_rpc[1];
        network.signed_profile = profile::sign(profile, profile::testing::operator_key());
        const profile::Store store({data_dir});
        ASSERT_TRUE(store.save(network).ok());
        if (as_default) {
            ASSERT_TRUE(store.set_default(name).ok());
        }
    }
    std::string config_file(const std::string& text) {
        EXPECT_TRUE(write_file_atomic(place_ / "node.yaml", as_bytes(text)).ok());
        return " --config " + (place_ / "node.yaml").string();
    }
    const testing::TemporaryFolder place_;
};

TEST_F(StoredNetworks, WithoutOptionsTheDefaultsHold) {
    const NodeCommand none("");
    EXPECT_EQ(none.options().given(), "");
    const node::NodeConfig defaults;
    const node::NodeConfig config = none.config({.network = false});
    EXPECT_EQ(config.coordinator, "");
    EXPECT_EQ(config.checkpoint_s, defaults.checkpoint_s);
    EXPECT_FALSE(config.insecure);
    const auto refused = none.options().resolve();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    for (const char* remedy : {"gym network add NAME URL", "gym register", "--coordinator"})
        EXPECT_NE(refused.error().message.find(remedy), std::string::npos);
}

TEST_F(StoredNetworks, TheDefaultNetworkSaysWhatNoOptionSays) {
    add("main", home(), true);
    const node::NodeConfig config = NodeCommand("").config();
    const profile::NetworkProfile sample = profile::testing::sample_profile();
    EXPECT_EQ(config.network, "main");
    EXPECT_EQ(config.coordinator, "main:7600");
    EXPECT_EQ(config.tls_ca_file, "system");
    EXPECT_EQ(config.chain_id, 5U);
    EXPECT_EQ(config.chain_rpc, sample.chain_rpc[1]) << "the endpoint in use";
    EXPECT_EQ(config.commitment_log, sample.contracts.commitment_log.hex());
    EXPECT_EQ(config.dispute_game, sample.contracts.dispute_game.hex());
    EXPECT_EQ(config.api, sample.api);
    const node::NodeConfig other =
        NodeCommand("--chain-rpc http://mine:1 --api http://mine:2").config();
    EXPECT_EQ(other.coordinator, "main:7600");
    EXPECT_EQ(other.chain_rpc, "http://mine:1");
    EXPECT_EQ(other.api, "http://mine:2");
}

TEST_F(StoredNetworks, ACoordinatorThatIsNamedIsAnotherNetworkThanTheDefault) {
    add("main", home(), true);
    const node::NodeConfig by_option = NodeCommand("--coordinator mine:1").config();
    const node::NodeConfig by_file = NodeCommand(config_file("coordinator: mine:1\n")).config();
    for (const node::NodeConfig& config : {by_option, by_file}) {
        EXPECT_EQ(config.coordinator, "mine:1");
        EXPECT_EQ(config.network, "");
        EXPECT_EQ(config.dispute_game, "");
        EXPECT_EQ(config.chain_id, 0U);
        EXPECT_EQ(config.tls_ca_file, "");
    }
}

TEST_F(StoredNetworks, OptionsOutrankTheNamedNetworkWhichOutranksTheFile) {
    add("main", home(), true);
    add("other", home(), false);
    const std::string file =
        config_file("coordinator: file:1\napi: http://file:2\nchain_rpc: http://file:3\n");
    const node::NodeConfig config =
        NodeCommand("--network other --api http://option:1" + file).config();
    EXPECT_EQ(config.coordinator, "other:7600");
    EXPECT_EQ(config.api, "http://option:1");
    EXPECT_EQ(config.chain_rpc, profile::testing::sample_profile().chain_rpc[1]);
    // In the file, a key outranks the network that the file names.
    const node::NodeConfig of_file =
        NodeCommand(config_file("network: other\napi: http://file:2\n")).config();
    EXPECT_EQ(of_file.coordinator, "other:7600");
    EXPECT_EQ(of_file.api, "http://file:2");
    EXPECT_EQ(NodeCommand("--network none").options().resolve().error().code, ErrorCode::kNotFound);
}

TEST_F(StoredNetworks, TheDataDirectoryComesBeforeTheHome) {
    add("main", home(), true);
    add("node", place_ / "node", true);
    const std::string flag = "--data-dir " + (place_ / "node").string();
    EXPECT_EQ(NodeCommand(flag).config().coordinator, "node:7600");
    EXPECT_EQ(NodeCommand(flag + " --network main").config().coordinator, "main:7600");
    EXPECT_EQ(NodeCommand("--data-dir " + (place_ / "empty").string()).config().coordinator,
              "main:7600");
}

TEST_F(StoredNetworks, WhatARegistrationWroteHoldsForTheNextCommands) {
    add("main", home(), true);
    add("other", home(), false);
    const std::string quoted = " --data-dir \"" + (place_ / "node dir").string() + "\"";
    const NodeCommand registered("--network other --threads 3 --insecure --passphrase-file pass" +
                                 quoted);
    node::NodeConfig config = registered.config({.remembered = false});
    config.device = "cuda:1";
    constexpr std::uint64_t kLent = 123ULL << 20;
    config.memory_bytes = kLent;
    std::filesystem::create_directories(config.data_dir);
    ASSERT_TRUE(registered.options().remember(config).ok());

    const node::NodeConfig next = NodeCommand(quoted).config();
    EXPECT_EQ(next.coordinator, "other:7600");
    EXPECT_EQ(next.threads, 3U);
    EXPECT_TRUE(next.insecure);
    EXPECT_EQ(next.passphrase_file, std::filesystem::absolute("pass"));
    EXPECT_EQ(next.device, "cuda:1");
    EXPECT_EQ(next.memory_bytes, kLent);
    EXPECT_EQ(next.data_dir, place_ / "node dir");
    EXPECT_EQ(NodeCommand("--threads 4" + quoted).config().threads, 4U) << "options outrank it";
    // A registration without --memory lends what it did before, on the same device.
    const auto lent = [](const std::string& arguments, const char* device) {
        return NodeCommand(arguments).options().remembered_memory(device);
    };
    EXPECT_EQ(lent("--device cpu" + quoted, "cuda:1"), kLent);
    EXPECT_EQ(lent(quoted, "cpu"), 0U);
    EXPECT_EQ(lent("--data-dir " + (place_ / "elsewhere").string(), "cuda:1"), 0U);
    EXPECT_EQ(lent(config_file("threads: 5\n") + quoted, "cuda:1"), 0U);
    EXPECT_EQ(NodeCommand(quoted).config({.remembered = false}).coordinator, "main:7600");
    EXPECT_EQ(NodeCommand(config_file("threads: 5\n") + quoted).config().threads, 5U)
        << "--config is read instead of it";
}

/// A command with options of the API and the chain, as the commands of job owners have.
class ClientCommand {
  public:
    explicit ClientCommand(const std::string& arguments) {
        CLI::App* const command = app_.add_subcommand("run", "");
        api_.add_to(*command, false);
        chain_.add_to(*command);
        keys_.add_to(*command, false);
        app_.parse("run " + arguments);
    }
    ApiOptions api_;
    ChainOptions chain_;
    KeyOptions keys_;

  private:
    CLI::App app_{"test"};
};

TEST_F(StoredNetworks, CommandsOfClientsUseTheDefaultNetworkWhereNothingElseIsNamed) {
    const ClientCommand nothing("");
    EXPECT_EQ(nothing.api_.base_url(), "http://127.0.0.1:8080");
    EXPECT_EQ(nothing.chain_.rpc_url().error().code, ErrorCode::kInvalidArgument);
    add("main", home(), true);
    const profile::NetworkProfile sample = profile::testing::sample_profile();
    const ClientCommand by_default("");
    EXPECT_EQ(by_default.api_.named_url(), sample.api);
    EXPECT_EQ(by_default.chain_.rpc_url().value(), sample.chain_rpc[1]);
    EXPECT_EQ(by_default.chain_.contracts().value(), sample.contracts);
    const ClientCommand by_option("--api http://mine:1 --chain http://mine:2");
    EXPECT_EQ(by_option.api_.named_url(), "http://mine:1");
    EXPECT_EQ(by_option.chain_.rpc_url().value(), "http://mine:2");
    EXPECT_EQ(by_option.chain_.contracts().value(), sample.contracts);
}

TEST_F(StoredNetworks, AVariableOutranksTheDefaultNetworkAndTheNetworkOptionOutranksTheVariable) {
    add("main", home(), true);
    ::setenv("GYM_API", "http://variable:1", 1);
    ::setenv("GYM_CHAIN", "http://variable:2", 1);
    const ClientCommand by_variable(""), by_option("--network main"),
        by_both("--network main --api http://mine:1");
    EXPECT_EQ(by_variable.api_.named_url(), "http://variable:1");
    EXPECT_EQ(by_variable.chain_.rpc_url().value(), "http://variable:2");
    EXPECT_EQ(by_option.api_.named_url(), profile::testing::sample_profile().api);
    EXPECT_EQ(by_option.chain_.rpc_url().value(), profile::testing::sample_profile().chain_rpc[1]);
    EXPECT_EQ(by_both.api_.named_url(), "http://mine:1");
    ::unsetenv("GYM_API");
    ::unsetenv("GYM_CHAIN");
}

TEST_F(StoredNetworks, ANetworkThatIsNotThereIsAMistakeOfUsage) {
    add("main", place_ / "node", false);
    EXPECT_THROW(ClientCommand("--network main"), CLI::ValidationError);
    const ClientCommand there("--network main --data-dir " + (place_ / "node").string());
    EXPECT_EQ(there.api_.named_url(), profile::testing::sample_profile().api);
}

}  // namespace
}  // namespace gym::app
