#include "gym/node/node_config.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "gym/common/file.hpp"
#include "gym/crypto/keystore.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::node {
namespace {

class NodeConfigTest : public ::testing::Test {
  protected:
    testing::TemporaryFolder dir_;
    Result<NodeConfig> load(std::string_view yaml) {
        const auto path = dir_.path() / "node.yaml";
        EXPECT_TRUE(write_file_atomic(path, as_bytes(yaml)).ok());
        return load_node_config(path.string());
    }
};

TEST_F(NodeConfigTest, ReadsEveryKey) {
    const auto config = load(
        "coordinator: 127.0.0.1:9\ntls_ca_file: system\nchain_id: 5\napi: http://127.0.0.1:8\n"
        "data_dir: /tmp/node\nkeystore_file: k.json\npassphrase_file: /tmp/pass\nthreads: 3\n"
        "isa: scalar\nmemory: 512MB\ndefend_disputes: false\n");
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(config->coordinator, "127.0.0.1:9");
    EXPECT_EQ(config->chain_id, 5u);
    EXPECT_EQ(config->keystore_path(), "/tmp/node/k.json");
    EXPECT_EQ(config->threads_used(), 3u);
    EXPECT_EQ(config->memory_bytes, 512ULL << 20);
    EXPECT_FALSE(config->defend_disputes);
    EXPECT_EQ(config->client({}).tls_ca_file, "system");
}

TEST_F(NodeConfigTest, GamesDoNotShareTheGpu) {
    const auto gpu = load("device: cuda:1\nmemory: 512MB\nthreads: 3\nisa: scalar\n");
    ASSERT_TRUE(gpu.ok()) << gpu.error().message;
    EXPECT_EQ(gpu->engine().device, "cuda:1");
    EXPECT_EQ(gpu->engine().memory_bytes_max, 512ULL << 20);
    const engine::EngineOptions games = gpu->games_engine();
    EXPECT_EQ(games.device, "cpu");
    EXPECT_EQ(games.memory_bytes_max, 0U) << "`memory` is the GPU's; of the host, what is free";
    EXPECT_EQ(games.threads, 3U);
    EXPECT_EQ(games.isa, "scalar");
    const auto cpu = load("memory: 512MB\n");
    ASSERT_TRUE(cpu.ok());
    EXPECT_EQ(cpu->games_engine().device, "cpu");
    EXPECT_EQ(cpu->games_engine().memory_bytes_max, 512ULL << 20);
}

TEST_F(NodeConfigTest, AnUnknownKeyOrABadValueIsNamed) {
    const auto unknown = load("coordinater: 127.0.0.1:9\n");
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(unknown.error().message.find("coordinater"), std::string::npos);
    EXPECT_EQ(load("threads: -1\n").error().code, ErrorCode::kInvalidArgument);
    const auto memory = load("memory: much\n");
    ASSERT_FALSE(memory.ok());
    EXPECT_NE(memory.error().message.find("memory"), std::string::npos);
    const auto device = load("threads: 1\ndevice: gpu0\n");
    ASSERT_FALSE(device.ok());
    EXPECT_NE(
        device.error().message.find("node.yaml:2: 'device' must be cpu, cuda or cuda:N, is 'gpu0'"),
        std::string::npos)
        << device.error().message;
}

TEST_F(NodeConfigTest, MemoryWithoutAUnitIsRefused) {
    const auto memory = load("memory: 24\n");
    ASSERT_FALSE(memory.ok());
    EXPECT_EQ(memory.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(memory.error().message.find("node.yaml:1: 'memory' of 24 is 24 bytes"),
              std::string::npos)
        << memory.error().message;
    EXPECT_EQ(load("memory: 64MB\n")->memory_bytes, 64ULL << 20);
    EXPECT_EQ(load("memory: \"67108864\"\n")->memory_bytes, 64ULL << 20) << "as remembered";
}

TEST_F(NodeConfigTest, AFileWithoutAnyKeyIsOneOfDefaults) {
    for (const char* nothing : {"", "\n", "# coordinator: x\n  # threads: 2\n\n"}) {
        const auto config = load(nothing);
        ASSERT_TRUE(config.ok()) << config.error().message;
        EXPECT_EQ(config->device, "cpu");
    }
    EXPECT_EQ(load("- 1\n").error().code, ErrorCode::kInvalidArgument);
}

TEST_F(NodeConfigTest, AFileThatCannotBeReadIsAWrongConfiguration) {
    const std::string none = (dir_.path() / "none.yaml").string();
    for (const std::string& path : {none, dir_.path().string()}) {
        const auto config = load_node_config(path);
        ASSERT_FALSE(config.ok());
        EXPECT_EQ(config.error().code, ErrorCode::kInvalidArgument) << path;
        EXPECT_NE(config.error().message.find(path), std::string::npos) << config.error().message;
    }
}

TEST_F(NodeConfigTest, TorrentsAreOffUntilTheFileSaysSo) {
    EXPECT_FALSE(load("threads: 1\n")->torrents);
    EXPECT_FALSE(load("torrents: {port: 7000}\n")->torrents);
    const auto on = load("torrents: {enabled: true}\n");
    ASSERT_TRUE(on.ok()) << on.error().message;
    EXPECT_EQ(on->torrents, torrent::SwarmOptions());
    const auto all = load(
        "torrents:\n  enabled: true\n  address: 192.0.2.1\n  port: 7000\n"
        "  upload_bytes_per_s_max: 5\n  connections_max: 6\n  seed_bytes_max: 7MB\n"
        "  seed_seconds_max: 8\n  seed_ratio_max: 0.5\n");
    ASSERT_TRUE(all.ok()) << all.error().message;
    torrent::SwarmOptions options;
    options.address = "192.0.2.1";
    options.port = 7'000;
    options.upload_bytes_per_s_max = 5;
    options.connections_max = 6;
    options.seed_bytes_max = 7ULL << 20;
    options.seed_s_max = 8;
    options.seed_ratio_max = 0.5;
    EXPECT_EQ(all->torrents, options);
}

TEST_F(NodeConfigTest, WrongBoundsOfTorrentsAreNamed) {
    for (const auto& [key, value] :
         std::vector<std::pair<std::string, std::string>>{{"port", "80"},
                                                          {"port", "70000"},
                                                          {"address", "example.org"},
                                                          {"upload_bytes_per_s_max", "-1"},
                                                          {"upload_bytes_per_s_max", "9999999999"},
                                                          {"connections_max", "1"},
                                                          {"seed_bytes_max", "much"},
                                                          {"seed_seconds_max", "-5"},
                                                          {"seed_ratio_max", "-0.5"},
                                                          {"seed_ratio_max", ".nan"},
                                                          {"enabled", "perhaps"},
                                                          {"dht", "true"}}) {
        const auto config = load(
            (key == "enabled" ? std::string("torrents:\n  ") : "torrents:\n  enabled: false\n  ") +
            key + ": " + value + "\n");
        ASSERT_FALSE(config.ok()) << key << " " << value;
        EXPECT_EQ(config.error().code, ErrorCode::kInvalidArgument) << key;
        EXPECT_NE(config.error().message.find(key), std::string::npos) << config.error().message;
    }
}

TEST_F(NodeConfigTest, AnAbsoluteKeystorePathIsTakenAsItIs) {
    const auto config = load("data_dir: /tmp/node\nkeystore_file: /etc/keys/k.json\n");
    EXPECT_EQ(config->keystore_path(), "/etc/keys/k.json");
}

TEST(ParseSize, KnowsUnitsAndRefusesTheRest) {
    EXPECT_EQ(parse_size("8GB").value(), 8ULL << 30);
    EXPECT_EQ(parse_size("24GiB").value(), 24ULL << 30);
    EXPECT_EQ(parse_size("1024").value(), 1024u);
    EXPECT_EQ(parse_size("2TB").value(), 2ULL << 40);
    for (const char* bad :
         {"", "GB", "8 GB", "8gigs", "-1GB", "1.5GB", "999999999TB", "99999999999999999999"})
        EXPECT_EQ(parse_size(bad).error().code, ErrorCode::kInvalidArgument) << bad;
}

TEST_F(NodeConfigTest, ThePassphraseComesFromAPrivateFile) {
    NodeConfig config;
    config.passphrase_file = dir_.path() / "pass";
    ASSERT_TRUE(write_file_atomic(config.passphrase_file, as_bytes("secret\n"), 0600).ok());
    const auto passphrase = read_passphrase(config, false);
    ASSERT_TRUE(passphrase.ok());
    EXPECT_EQ(to_hex(passphrase->view()), to_hex(as_bytes("secret")));
    ASSERT_TRUE(write_file_atomic(config.passphrase_file, as_bytes("secret\n"), 0644).ok());
    EXPECT_EQ(read_passphrase(config, false).error().code, ErrorCode::kInvalidArgument);
}

/// A service that starts again would find the same.
TEST_F(NodeConfigTest, APassphraseThatCannotBeRightIsAWrongConfiguration) {
    NodeConfig config;
    config.data_dir = dir_.path();
    ASSERT_TRUE(crypto::save_keystore(config.keystore_path(), crypto::PrivateKey::generate(),
                                      crypto::SecretBytes(std::string_view("secret")),
                                      crypto::ScryptCost::light())
                    .ok());
    const auto refusal = [&](const char* name) {
        config.passphrase_file = dir_.path() / name;
        const auto key = load_key(config);
        EXPECT_FALSE(key.ok());
        EXPECT_EQ(key.error().code, ErrorCode::kInvalidArgument) << key.error().message;
        EXPECT_NE(key.error().message.find(config.passphrase_file.string()), std::string::npos)
            << key.error().message;
        return key.error().message;
    };
    ASSERT_TRUE(write_file_atomic(dir_.path() / "empty", as_bytes(""), 0600).ok());
    ASSERT_TRUE(write_file_atomic(dir_.path() / "wrong", as_bytes("other\n"), 0600).ok());
    EXPECT_NE(refusal("none").find("no secret file"), std::string::npos);
    EXPECT_NE(refusal("empty").find("holds no secret"), std::string::npos);
    EXPECT_NE(refusal("wrong").find("wrong passphrase"), std::string::npos);
}

TEST_F(NodeConfigTest, AMissingKeySaysWhatToRun) {
    NodeConfig config;
    config.data_dir = dir_.path();
    const auto key = load_key(config);
    ASSERT_FALSE(key.ok());
    EXPECT_EQ(key.error().code, ErrorCode::kNotFound);
    EXPECT_NE(key.error().message.find("gym node register"), std::string::npos);
}

}  // namespace
}  // namespace gym::node
