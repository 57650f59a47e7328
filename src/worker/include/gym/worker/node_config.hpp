#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"
#include "gym/crypto/secret.hpp"
#include "gym/rpc/client.hpp"

namespace gym::worker {

/// How a node (worker or verifier) is set up: a YAML file, every key of which a flag may override.
///
///     coordinator: 127.0.0.1:7600   # host:port
///     tls_ca_file: system           # PEM file or "system"; leave out on loopback
///     insecure: false               # dial another machine without TLS
///     chain_id: 31337               # refuse another network (0: accept what the coordinator says)
///     chain_rpc: http://127.0.0.1:8545   # check the coordinator against the chain; empty: believe
///     it commitment_log: 0x...         # the contract to ask (empty: the one the coordinator
///     names) beacon_delay_blocks: 4        # verifiers: which block draws (0: what the coordinator
///     says) chain_wait_seconds: 60        # for a round record to appear on the chain data_dir:
///     ~/.gym              # key, blobs, commitments keystore_file: key.json       # relative to
///     data_dir passphrase_file: secret       # mode 0600; or the environment variable
///     GYM_PASSPHRASE threads: 2                    # 0: all of this machine api:
///     http://127.0.0.1:8080  # gym-api, for `gym node status` isa: auto                     #
///     auto, scalar, avx2, avx512, amx memory: 8GB                   # programs that need more are
///     refused checkpoint_seconds: 30        # how often a unit's progress is saved (0: after every
///     step) defend_disputes: true         # re-execute a disputed unit and stand by it
struct NodeConfig {
    std::string coordinator = "127.0.0.1:7600";
    std::string tls_ca_file;
    bool insecure = false;
    std::uint64_t chain_id = 0;
    std::string chain_rpc;
    std::string commitment_log;
    std::uint32_t beacon_delay_blocks = 0;
    std::uint32_t chain_wait_s = 60;
    std::string api;
    std::filesystem::path data_dir;
    std::filesystem::path keystore_file = "key.json";
    std::filesystem::path passphrase_file;
    unsigned threads = 0;
    std::string isa = "auto";
    std::uint64_t memory_bytes = std::uint64_t{8} << 30;
    std::uint32_t checkpoint_s = 30;
    bool defend_disputes = true;

    [[nodiscard]] std::filesystem::path keystore_path() const;
    [[nodiscard]] unsigned threads_used() const;
    [[nodiscard]] rpc::ClientConfig client(const std::stop_token& stop) const;
};

/// $GYM_HOME, else ~/.gym.
[[nodiscard]] std::filesystem::path default_data_dir();
/// The defaults, then what `file` says (empty: nothing). @errors kInvalidArgument, kIo, kMalformed.
[[nodiscard]] Result<NodeConfig> load_node_config(const std::string& file);

/// "8GB", "512MB", "24GiB" or plain bytes. GB is 2^30 here, as on the box of a GPU.
/// @errors kInvalidArgument.
[[nodiscard]] Result<std::uint64_t> parse_size(const std::string& text);

/// The passphrase from the file, else from GYM_PASSPHRASE, else asked on the terminal (`confirm`:
/// twice).
/// @errors kInvalidArgument when there is none of them.
[[nodiscard]] Result<crypto::SecretBytes> read_passphrase(const NodeConfig& config, bool confirm);

/// The node's key from its keystore. @errors kNotFound with what to run, kPermissionDenied.
[[nodiscard]] Result<crypto::PrivateKey> load_key(const NodeConfig& config);

}  // namespace gym::worker
