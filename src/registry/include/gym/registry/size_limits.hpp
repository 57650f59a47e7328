#pragma once

#include <cstdint>
#include <optional>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/protocol/delta_size.hpp"

namespace gym::registry {

/// Publishes what coordinators have room for, so that a job that they would pause for its size is
/// refused before. For the role gym_coordinator.
Status publish_size_limits(db::Transaction& tx, const protocol::SizeLimits& limits, UnixMs now_ms);
/// Absent until a coordinator has published them.
Result<std::optional<protocol::SizeLimits>> published_size_limits(db::Transaction& tx);

/// Publishes how long after a draw a fault can be taken to the chain, so that a job whose checks
/// take longer is refused before. For the role gym_coordinator.
Status publish_dispute_window(db::Transaction& tx, std::int64_t window_ms, UnixMs now_ms);
/// Absent until a coordinator has published it, and on a network that plays no games.
Result<std::optional<std::int64_t>> published_dispute_window(db::Transaction& tx);

}  // namespace gym::registry
