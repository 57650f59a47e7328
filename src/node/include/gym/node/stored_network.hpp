#pragma once

#include <filesystem>

#include "gym/common/result.hpp"
#include "gym/node/node_config.hpp"
#include "gym/profile/store.hpp"

/// What a node takes from a network that its user stored: for the command line and Python.
namespace gym::node {

/// The user's networks: those in `data_dir`, unless it is empty, then those in default_data_dir().
[[nodiscard]] profile::Store network_store(const std::filesystem::path& data_dir);

/// Drops what the configuration says of its network, in the place of which another one is named.
/// To be called before options are applied, which outrank both.
void forget_network(NodeConfig& config);

/// Fills in what the configuration does not say (coordinator with its CA, chain, contracts, API)
/// from the network that it names, or else from the default one; from none if it names only a
/// coordinator. @param own_ca whether tls_ca_file stays as it is where the coordinator is taken.
/// @errors as profile::Store::find().
[[nodiscard]] Status use_network(NodeConfig& config, bool own_ca = false);

}  // namespace gym::node
