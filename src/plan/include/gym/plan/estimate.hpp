#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "gym/common/amount.hpp"
#include "gym/common/result.hpp"
#include "gym/plan/facts.hpp"
#include "gym/program/train_program.hpp"
#include "gym/protocol/sampling.hpp"
#include "gym/registry/job_spec.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/worker_memory.hpp"

/// How long a job takes and what it costs, most likely and at most (docs/JOBS.md, "The plan"). Pure
/// functions of a job's terms, its model and the network's facts. Times and shares are estimates in
/// floating point; money that is promised (`most_wei`) is counted in integers by the coordinator's
/// own rule.
namespace gym::plan {

/// What a model's steps cost.
struct ModelWork {
    std::uint64_t flops_per_step = 0;
    double evaluation_flops = 0;  ///< of a window of validation; 0: not known
    std::uint64_t tokens_per_step = 0;
    std::uint64_t parameters = 0;
    std::uint64_t delta_bytes = 0;     ///< of each delta
    std::uint64_t fetched_bytes = 0;   ///< of what brings a worker the next base state
    std::uint64_t state_bytes = 0;     ///< of the largest state that a node fetches; 0: not known
    registry::WorkerMemory memory;     ///< of a worker
    std::uint32_t context = 1;         ///< tokens of a window
    std::uint64_t schedule_steps = 0;  ///< where the learning rate's schedule ends; 0: anywhere
    /// Momentum of the outer step that the model file writes; absent: the plan chooses the step.
    std::optional<double> outer_momentum = 0.0;
    double outer_rate = 0;            ///< of the same step
    bool compression_chosen = false;  ///< of the deltas; nobody wrote it
    bool update_chosen = false;       ///< the compression of updates, likewise
    /// FLOPs of an aggregate over so many deltas.
    std::function<Result<std::uint64_t>(const registry::AggregateSize&)> aggregate_flops;
};
/// @errors kInvalidArgument naming the setting that is out of bounds.
[[nodiscard]] Result<ModelWork> model_work(const program::TrainConfig& config);

/// Cost of verification in parts per million of the cost of compute, aggregates included.
struct VerificationShare {
    std::uint64_t untrusted_ppm = 0;  ///< every unit is run again: workers without a record
    std::uint64_t trusted_ppm = 0;    ///< at the sampling floor: workers with a long valid streak
    std::uint64_t expected_ppm = 0;  ///< with the streaks of today's workers, which grow on the way
};

struct SecondsRange {
    double low = 0, high = 0;
};

struct Estimate {
    double flops = 0;                 ///< of all training units
    std::uint64_t tokens = 0;         ///< that they train on
    registry::WorkerMemory memory;    ///< that a worker needs
    std::uint64_t delta_bytes = 0;    ///< that a worker sends in a round
    std::uint64_t fetched_bytes = 0;  ///< that it fetches in a round, after its first
    /// The same with the workers that are live now, if no others come; absent: they are not known.
    std::optional<std::uint64_t> tokens_today;
    Amount compute_wei;
    Amount unit_wei;  ///< compute of one unit, as a worker is paid: 0 is work for nothing
    Amount data_wei;
    Amount expected_wei;              ///< with the expected verification, full uptime bonus, fee
    std::optional<Amount> most_wei;   ///< nothing costs more; absent: the rates are not known
    std::optional<Amount> round_wei;  ///< the same of one round
    VerificationShare verification;
    // Absent without a live worker that measured itself.
    std::optional<SecondsRange> unit_s;
    std::optional<SecondsRange> seconds;  ///< until the last round is aggregated
};

/// @errors kOutOfRange for amounts beyond 256 bits; those of `work`.
[[nodiscard]] Result<Estimate> estimate(const registry::JobTerms& terms, const ModelWork& work,
                                        const Facts& facts);

/// Mean rate at which the units of one worker are run again in `rounds` rounds, in parts per
/// million: protocol::sampling_rate_ppm() of a streak that grows by one with each unit.
/// @param valid_units protocol::units_worth() of its record and a unit, at the beginning. @param
/// lag rounds until a unit is final and counts. @param participation rounds of 1 that the worker
/// takes part in, above 0.
[[nodiscard]] double mean_sampling_ppm(const protocol::SamplingPolicy& policy,
                                       std::uint64_t valid_units, std::uint64_t rounds, double lag,
                                       double participation);

/// How long a job's rounds take; the part of estimate() that needs no money.
struct Times {
    SecondsRange unit_s;
    SecondsRange round_s;          ///< from one round's beginning to the next one's
    double mean_sampling_ppm = 0;  ///< of the units of all rounds
};
/// Absent without a live worker that measured itself.
[[nodiscard]] std::optional<Times> times_of(const registry::JobTerms& terms, const ModelWork& work,
                                            const Facts& facts);
/// Until the last round is aggregated. Where rounds overlap, one without workers follows the last.
[[nodiscard]] SecondsRange job_seconds(const registry::JobTerms& terms, const Times& times);

}  // namespace gym::plan
