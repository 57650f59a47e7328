#pragma once

#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/db/database.hpp"

namespace gym::registry {

/// Replaces the mirrors that gym-api names to owners. For the role gym_coordinator.
/// @pre at most 64 addresses of 1 to 512 bytes.
Status publish_mirrors(db::Transaction& tx, const std::vector<std::string>& mirrors);
/// In the coordinator's order; empty without mirrors.
[[nodiscard]] Result<std::vector<std::string>> published_mirrors(db::Transaction& tx);

}  // namespace gym::registry
