#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gym/client/api_client.hpp"
#include "gym/registry/visibility.hpp"

/// In plain words: the accounts that can list and download something of an owner, and that nodes
/// see it in the clear.
namespace gym::owner {

/// @param nodes registered and not excluded; absent: not known.
[[nodiscard]] std::string who_sees_data(const registry::Access& access,
                                        std::optional<std::uint64_t> nodes);
/// Of a job's model, while and after it is trained.
[[nodiscard]] std::string who_sees_model(const registry::Access& access,
                                         std::optional<std::uint64_t> nodes);
/// Of weights that are registered under a name.
[[nodiscard]] std::string who_sees_named_model(const registry::Access& access,
                                               std::optional<std::uint64_t> nodes);
/// Nodes that may be given a task; absent where gym-api does not answer.
[[nodiscard]] std::optional<std::uint64_t> count_nodes(const client::ApiClient& api);

}  // namespace gym::owner
