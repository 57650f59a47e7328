#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "gym/plan/plan.hpp"
#include "gym/registry/jobs.hpp"

namespace gym::sim {

/// What a model's blobs weigh, in bytes a parameter. The simulator's own blobs have a few bytes
/// each and stand for these.
struct Codec {
    double delta = 4;        ///< a worker sends it
    double base = 4;         ///< a worker fetches it whole at first, and after a gap
    double update = 0;       ///< ... instead, once it has an earlier one; 0: the job has no updates
    double outer_state = 4;  ///< the verifier of an aggregate fetches it
    /// Of the outer step on one thread, in nanoseconds a parameter: the first, and for each delta
    /// (bench_aggregate: a line through its rows of 8 and 64 deltas).
    double aggregate_ns = 10.5, aggregate_delta_ns = 0.66;

    /// FP32 both ways.
    static Codec plain() { return {}; }
    /// `compression: dense-4bit` and `update: dense-4bit`: rows of 33 bytes for 64 elements, 31
    /// rows and a byte in each 1,024.
    static Codec dense_4bit() { return {0.5162, 4, 0.5162, 8.52, 27.2, 1.27}; }
};

/// A worker unlike the others: factors of their speed and line.
struct OddWorker {
    double speed = 1;
    double line = 1;
};

/// One history: everything is a function of these values.
struct Settings {
    std::uint64_t seed = 1;
    double hours = 24;

    // Nodes.
    std::uint32_t workers = 32;
    std::uint32_t verifiers = 8;
    std::vector<OddWorker> odd_workers = {};  ///< beside `workers`, as new as those that join
    double leaving_per_hour = 0;              ///< share of the nodes; as many join
    double silent_share = 0.5;                ///< of those that leave: do not sign off
    /// Units that the first workers have had accepted, in other jobs. Who joins later has none.
    std::uint64_t units_before = 0;

    // Machines. Spreads: each node has a factor of its own, evenly out of 1 - spread to 1 + spread.
    double up_mbps = 110, down_mbps = 500;
    std::int64_t latency_ms = 80;  ///< there and back
    double line_spread = 0;
    double unit_seconds = 900;  ///< computing of a full unit at speed 1
    double speed_spread = 0;
    double operator_mbps = 10'000;  ///< of the coordinator's own line, for uploads to it
    double operator_flops = 1e12;   ///< a second, of its engine: losses and audits
    unsigned operator_threads = 16;
    std::int64_t tick_ms = 200;
    std::int64_t heartbeat_ms = 5'000;
    std::uint32_t audit_ppm = 0;

    // Chain.
    std::int64_t block_ms = 2'000;
    std::uint32_t confirmations = 1;
    std::uint32_t beacon_delay_blocks = 2;

    // Job.
    std::uint64_t parameters = 1'000'000'000;
    Codec codec = Codec::dense_4bit();
    std::uint64_t dataset_bytes = 1'000'000'000;  ///< each node fetches it once
    std::uint32_t steps = 100;                    ///< H
    std::uint64_t tokens_per_step = 65'536;
    std::uint64_t tokens_of_window = 1'024;
    std::uint32_t evaluate_windows = 16;
    /// Mirrors that a worker sends its delta to, one after the other: 1 of a public job, whose
    /// second copy mirrors make; 2 as it was before. 0: the coordinator, of a private job.
    std::uint32_t mirror_copies = 1;
    /// Elasticity and grace time are those of a planned job, unless a history says otherwise.
    std::optional<std::int64_t> grace_ms = {};
    std::optional<registry::Elasticity> elastic = {};

    [[nodiscard]] std::uint64_t bytes(double per_parameter) const {
        return static_cast<std::uint64_t>(per_parameter * static_cast<double>(parameters));
    }
    [[nodiscard]] std::uint32_t slots() const {
        const auto all = workers + static_cast<std::uint32_t>(odd_workers.size());
        return std::min<std::uint32_t>(all + all / 4, 1'024);
    }
    [[nodiscard]] registry::Elasticity elasticity() const {
        return elastic.value_or(plan::elasticity_of(slots()));
    }
    /// Rounds overlap, and all else is as planned: without late units, which do not go with it.
    void overlap_rounds() {
        elastic = elasticity();
        elastic->accept_late = false;
        elastic->overlap = 1;
    }
    [[nodiscard]] std::int64_t grace() const {
        return grace_ms.value_or(plan::grace_ms_of(unit_seconds));
    }
    [[nodiscard]] std::uint64_t flops_per_step() const { return 6 * parameters * tokens_per_step; }
    /// A second, of a worker at speed 1.
    [[nodiscard]] double worker_flops() const {
        return static_cast<double>(flops_per_step()) * steps / unit_seconds;
    }
    /// As a plan has it: three units and a minute more, at least 10 minutes.
    [[nodiscard]] std::int64_t unit_ms() const {
        return std::max<std::int64_t>(600'000,
                                      static_cast<std::int64_t>(unit_seconds * 3'000) + 60'000);
    }
};

}  // namespace gym::sim
