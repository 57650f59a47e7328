#pragma once

#include <cstdint>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/protocol/unit_fit.hpp"
#include "gym/registry/worker_memory.hpp"

/// Jobs whose next round could begin: they share the network's workers.
namespace gym::registry {

struct WaitingJob {
    Digest id;
    UnixMs since_ms = 0;  ///< since its last round is aggregated, or else since its start
    std::int64_t unit_ms = 0;
    std::uint32_t slots_max = 1;
    std::uint32_t workers_min = 1;
    std::uint64_t delta_bytes = 0;  ///< of each delta
    WorkerMemory worker_memory;     ///< that a unit takes
    protocol::UnitLength least;     ///< its shortest unit
    Amount price_wei_per_pflop = {};
};
/// Of the jobs that run, ascending by `since_ms` and id; at most `limit`. Only those that wait for
/// less than their `unit_ms`.
Result<std::vector<WaitingJob>> waiting_jobs(db::Transaction& tx, UnixMs now_ms,
                                             std::uint32_t limit);

}  // namespace gym::registry
