#pragma once

#include <optional>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/protocol/job_cost.hpp"

namespace gym::registry {

/// Says by which rates coordinators decide whether a job's budget covers a round: quotes count by
/// them. For the role gym_coordinator.
Status publish_cost_rates(db::Transaction& tx, const protocol::CostRates& rates, UnixMs now_ms);
/// Absent before a coordinator said it.
Result<std::optional<protocol::CostRates>> published_cost_rates(db::Transaction& tx);

}  // namespace gym::registry
