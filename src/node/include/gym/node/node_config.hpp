#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"
#include "gym/crypto/secret.hpp"
#include "gym/engine/engine.hpp"
#include "gym/rpc/client.hpp"
#include "gym/torrent/swarm.hpp"

namespace gym::node {

/// What a node lends of a CPU's memory unless told otherwise.
inline constexpr std::uint64_t kCpuMemoryBytes = std::uint64_t{8} << 30;

/// The configuration of a node (worker or verifier): a YAML file (deploy/config/worker.yaml
/// explains every key), most keys of which a flag may override.
struct NodeConfig {
    std::string network;      ///< name of a stored network profile; empty: the default one
    std::string coordinator;  ///< empty: not named
    std::string tls_ca_file;  ///< as rpc::ClientConfig::tls_ca_file
    bool insecure = false;
    std::uint64_t chain_id = 0;
    std::string chain_rpc;
    std::string commitment_log;
    std::string dispute_game;
    std::uint32_t beacon_delay_blocks = 0;
    std::uint32_t chain_wait_s = 60;
    std::string api;
    std::filesystem::path data_dir;
    std::filesystem::path keystore_file = "key.json";
    std::filesystem::path passphrase_file;
    unsigned threads = 0;
    std::string isa = "auto";
    std::string device = "cpu";
    std::uint64_t memory_bytes = 0;  ///< to lend; 0: 8 GiB, or all of a GPU's that is free
    std::uint32_t checkpoint_s = 30;
    std::uint32_t prefix_s = 60;  ///< a worker signs for the steps of its unit so often; 0: never
    bool defend_disputes = true;
    std::optional<torrent::SwarmOptions> torrents;  ///< absent: blobs come from mirrors alone

    [[nodiscard]] std::filesystem::path keystore_path() const;
    [[nodiscard]] std::filesystem::path claims_folder() const;
    [[nodiscard]] unsigned threads_used() const;
    [[nodiscard]] engine::EngineOptions engine() const;
    /// Of games, which run units again beside the node's own work: always on the CPU, with the same
    /// bits. A second engine on the GPU would find no memory there until that work ends, and games
    /// have clocks.
    [[nodiscard]] engine::EngineOptions games_engine() const;
    [[nodiscard]] rpc::ClientConfig client(const std::stop_token& stop) const;
};

/// Where keys, stored networks and a node's files are unless another folder is named: $GYM_HOME,
/// else ~/.gym.
[[nodiscard]] std::filesystem::path default_data_dir();

/// The defaults, then what `file` says (empty: nothing). @errors kInvalidArgument, also where the
/// file cannot be read.
[[nodiscard]] Result<NodeConfig> load_node_config(const std::string& file);

/// "8GB", "512MB", "24GiB" or plain bytes. GB is 2^30 here, as on the box of a GPU.
/// @errors kInvalidArgument.
[[nodiscard]] Result<std::uint64_t> parse_size(const std::string& text);

/// The same of memory to lend. @errors also kInvalidArgument for less than any program needs: a
/// number whose unit was forgotten.
[[nodiscard]] Result<std::uint64_t> parse_lent_memory(const std::string& text);

/// The passphrase from the file, else from GYM_PASSPHRASE, else asked on the terminal (`confirm`:
/// twice).
/// @errors kInvalidArgument if there is neither file, variable nor terminal, or the file is not a
/// secret one.
[[nodiscard]] Result<crypto::SecretBytes> read_passphrase(const NodeConfig& config, bool confirm);

/// The address of the node's key; needs no passphrase. @errors as load_key().
[[nodiscard]] Result<Address> key_address(const NodeConfig& config);
/// The node's key from its keystore. @errors kNotFound with the command that creates one, those of
/// read_passphrase() and open_key().
[[nodiscard]] Result<crypto::PrivateKey> load_key(const NodeConfig& config);
/// The same with the passphrase. @errors kInvalidArgument for a wrong one, with the place that it
/// came from; others as crypto::load_keystore().
[[nodiscard]] Result<crypto::PrivateKey> open_key(const NodeConfig& config,
                                                  const crypto::SecretBytes& passphrase);

}  // namespace gym::node
