#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/protocol/job_cost.hpp"
#include "gym/registry/jobs.hpp"

namespace gym::registry {

/// Publishes the rates by which coordinators decide whether a job's budget covers a round; quotes
/// count by them too. For the role gym_coordinator.
Status publish_cost_rates(db::Transaction& tx, const protocol::CostRates& rates, UnixMs now_ms);
/// Absent until a coordinator has published them.
Result<std::optional<protocol::CostRates>> published_cost_rates(db::Transaction& tx);

/// A job's prices. Precondition: the job has artifacts.
[[nodiscard]] protocol::WorkPrice work_price(const Job& job);

/// The work of a job's units that is paid or may still be paid. Training: a unit without a
/// commitment counts in full, one that ended without pay not at all, and one that expired with a
/// prefix for the prefix's steps until that is decided against it. Reports: on train units that
/// ended without pay once a report is accepted, on refuted prefixes, and on the coordinator's own
/// until they have ended without one.
/// @param rounds The rounds whose units count; all rounds if absent.
Result<protocol::Work> billable_work(
    db::Transaction& tx, const Digest& job_id,
    const std::optional<std::vector<std::uint64_t>>& rounds = std::nullopt);

/// FLOPs of the job's largest aggregate; zero before the first.
Result<Amount> aggregate_flops_max(db::Transaction& tx, const Digest& job_id);

/// Rounds of the job without a validation loss, each of which may still have an evaluation.
Result<std::uint64_t> rounds_to_evaluate(db::Transaction& tx, const Digest& job_id);

}  // namespace gym::registry
