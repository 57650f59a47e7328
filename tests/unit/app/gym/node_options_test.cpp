// The options that every command of a node has.

#include "node/node_options.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

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
    [[nodiscard]] node::NodeConfig config() const {
        auto config = options_.resolve();
        EXPECT_TRUE(config.ok());
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
    EXPECT_EQ(NodeCommand("--config /etc/worker.yaml --threads 2").options().given(),
              " --config /etc/worker.yaml --threads 2");
}

TEST(NodeOptions, AnotherCommandGetsWordsThatAShellDoesNotSplit) {
    EXPECT_EQ(NodeCommand("--data-dir \"/my node\" --keystore a'b").options().given(),
              " --data-dir '/my node' --keystore 'a'\\''b'");
}

TEST(NodeOptions, WithoutOptionsTheDefaultsHold) {
    const NodeCommand none("");
    EXPECT_EQ(none.options().given(), "");
    const node::NodeConfig defaults;
    EXPECT_EQ(none.config().coordinator, defaults.coordinator);
    EXPECT_EQ(none.config().checkpoint_s, defaults.checkpoint_s);
    EXPECT_FALSE(none.config().insecure);
}

}  // namespace
}  // namespace gym::app
