#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "gym/common/result.hpp"
#include "gym/node/node_config.hpp"

namespace gym::app {

/// The flags that every program of a node has; each overrides its key of the configuration file.
struct NodeOptions {
    std::string config_file;
    std::optional<std::string> coordinator;
    std::optional<std::string> tls_ca_file;
    std::optional<std::string> chain_rpc;
    std::optional<std::string> commitment_log;
    std::optional<std::string> dispute_game;
    std::optional<std::uint32_t> checkpoint_s;
    bool insecure = false;
    std::optional<std::string> data_dir;
    std::optional<std::string> keystore_file;
    std::optional<std::string> passphrase_file;
    std::optional<std::string> isa;
    std::optional<std::string> device;
    std::optional<std::string> api;
    std::optional<unsigned> threads;
    std::string log_level = "info";

    void add_to(CLI::App& command);
    /// The flags that were given, for another command of the same node: " --config FILE ...".
    [[nodiscard]] std::string given() const;
    /// @errors as node::load_node_config.
    [[nodiscard]] Result<node::NodeConfig> resolve() const;
};

}  // namespace gym::app
