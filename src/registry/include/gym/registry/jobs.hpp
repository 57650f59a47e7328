#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"
#include "gym/protocol/lifecycle.hpp"
#include "gym/protocol/sampling.hpp"
#include "gym/registry/visibility.hpp"
#include "gym/registry/worker_memory.hpp"

namespace gym::registry {

enum class JobStatus : std::uint8_t {
    kSubmitted,  ///< waits for the coordinator to prepare its blobs
    kRunning,
    kPaused,     ///< by its owner or for want of budget; keeps its state
    kCompleted,  ///< all rounds done and every unit decided
    kCancelled,
    kFailed,  ///< could not be prepared; the reason says why
};
[[nodiscard]] std::string_view to_string(JobStatus status) noexcept;
[[nodiscard]] Result<JobStatus> parse_job_status(std::string_view name);

/// Terms that the owner fixes at submission; the same for all rounds.
/// Whether a round waits for its slowest workers, and how much it asks of them.
struct Elasticity {
    /// The part of the round's steps that is committed when the other units are hurried
    /// (protocol::event::Hurried). 1: every unit has the whole of unit_ms.
    std::uint32_t quorum_ppm = kPpm;
    /// A slot has fewer steps than H if its worker was slower than half of the others.
    bool adapt_steps = false;
    /// A round does not wait for the verification of its units: the deltas of those that are drawn
    /// go in one round later, at half weight. Its last round waits.
    bool hold_drawn = false;
    /// A commitment that comes after its unit's deadline, and before the next round is sealed, is
    /// of the next round's epoch, and its delta goes in there, at half weight.
    bool accept_late = false;
    /// 1: while a round computes, the deltas of the round before are sent, verified and aggregated.
    /// Its units start from the base state without them, and the aggregate that its record names
    /// takes those deltas alone. After the job's last round comes one without slots, whose
    /// aggregate takes that round's deltas. 0: a round begins when the one before is aggregated.
    std::uint32_t overlap = 0;
    /// A delta that is proven faulty after it went in is subtracted by the next aggregate. Not
    /// where rounds overlap.
    bool subtract = false;

    /// Whether an aggregate may have deltas of the round before beside those of its own.
    [[nodiscard]] bool holds_deltas() const { return overlap == 0 && (hold_drawn || accept_late); }
    friend bool operator==(const Elasticity&, const Elasticity&) = default;
};

struct JobTerms {
    std::uint64_t rounds = 1;
    std::uint32_t slots_max = 1;    ///< workers of one round
    std::uint32_t workers_min = 1;  ///< a round starts with at least so many
    std::uint32_t steps = 1;        ///< H
    std::uint32_t checkpoint_every = 1;
    std::uint32_t evaluate_windows = 64;      ///< validation windows of each round's loss
    std::optional<double> delta_norm_max;     ///< no bound when absent
    std::optional<double> delta_norm_factor;  ///< likewise: protocol::InclusionPolicy
    Amount price_wei_per_pflop;               ///< for 10^15 counted FLOPs of a final unit
    protocol::LifecycleParams lifecycle;
    protocol::SamplingPolicy sampling;
    Elasticity elastic;

    friend bool operator==(const JobTerms&, const JobTerms&) = default;
};

/// A pending request; the coordinator acts on it between rounds.
enum class JobRequest : std::uint8_t { kPause, kResume, kCancel };
[[nodiscard]] std::string_view to_string(JobRequest request) noexcept;

/// A state blob: what it hashes to as tensors, and where its bytes are.
struct StateRef {
    Digest root;
    Digest blob;
    friend bool operator==(const StateRef&, const StateRef&) = default;
};

struct NewJob {
    Digest id;  ///< make_job_id()
    Address owner;
    std::string name;
    std::string spec_yaml;  ///< the whole job file, kept as it was submitted
    Digest dataset_root;    ///< must be registered
    JobTerms terms;
    Amount budget_wei;  ///< locked in the job's escrow account by the caller's transaction
    std::optional<StateRef> init;  ///< base state that round 1 begins from; absent: drawn at random
    bool init_own = false;         ///< the owner uploaded it itself
    Access access;                 ///< to its model
};

/// The blobs of a prepared job and what was counted from its programs.
struct JobArtifacts {
    Digest seed;
    Digest program_root, program_blob;
    Digest evaluate_program_root, evaluate_program_blob;
    Digest logits_program_root, logits_program_blob;
    Digest base_state_root, base_state_blob;  ///< theta_1
    Digest momentum_root, momentum_blob;
    std::uint64_t tokens_per_step = 0;
    std::uint64_t flops_per_step = 0;
    std::uint64_t parameters = 0;
    WorkerMemory worker_memory;     ///< that a unit takes
    std::uint64_t delta_bytes = 0;  ///< of each delta
    std::uint64_t state_bytes = 0;  ///< of the largest state; 0: unknown, of older jobs
};

struct Job {
    Digest id;
    Address owner;
    std::string name;
    std::string spec_yaml;
    Digest dataset_root;
    JobTerms terms;
    Amount budget_wei;
    std::optional<StateRef> init;  ///< as submitted
    bool init_own = false;         ///< as submitted
    /// To the model: weights, checkpoints, exports. The rest of a job is open to everybody by its
    /// id: what was paid for which roots can be audited.
    Access access;
    Address data_owner;  ///< of the dataset, who is paid for it
    /// Price of the dataset's tokens for this job, as registered when the job was submitted.
    Amount data_price_wei_per_mtoken;
    std::uint32_t data_quality_ppm = 0;
    JobStatus status = JobStatus::kSubmitted;
    std::string status_reason;          ///< one sentence, empty when there is nothing to say
    std::optional<JobRequest> request;  ///< not carried out yet
    std::string request_reason;  ///< of a request in the owner's place; empty when the owner asked
    std::optional<JobArtifacts> artifacts;  ///< from kRunning on
    UnixMs submitted_at_ms = 0;
    std::optional<UnixMs> started_at_ms;
    std::optional<UnixMs> ended_at_ms;
    std::uint64_t rounds_done = 0;  ///< aggregated rounds, of those with slots
};

/// H("gym.job.v1" | owner | key): the same idempotency key gives the same job.
[[nodiscard]] Digest make_job_id(const Address& owner, std::string_view idempotency_key);

/// Inserts a submitted job. The caller locks the budget in the ledger in the same transaction.
/// Submitting the same job again returns the stored one. @errors kConflict for the same id with
/// other content or an unregistered dataset, kInvalidArgument for terms that the schema refuses.
Result<Job> submit_job(db::Transaction& tx, const NewJob& job, UnixMs now_ms);
/// Adds to the budget (after the caller locked it), resumes a job that paused for want of budget
/// and withdraws a pause that was requested for that reason.
Status add_budget(db::Transaction& tx, const Digest& id, const Amount& amount);
/// @errors kNotFound.
Result<Job> get_job(db::Transaction& tx, const Digest& id);
/// The same, and locks the job until the transaction ends. Needs READ COMMITTED.
Result<Job> lock_job(db::Transaction& tx, const Digest& id);

struct JobFilter {
    std::optional<Address> owner;
    std::optional<JobStatus> status;
    std::uint32_t limit = 100;  ///< at most 1,000
    std::uint32_t offset = 0;
    Viewer viewer = Viewer::service();
};
/// Newest first, those whose model the viewer may see; without their `spec_yaml`.
Result<std::vector<Job>> list_jobs(db::Transaction& tx, const JobFilter& filter);

/// The job, for a viewer who may see its model. @errors kNotFound, as get_job(), for all others.
Result<Job> get_job_of_model(db::Transaction& tx, const Digest& id, const Viewer& viewer);
/// Who may see the model from now on; what was fetched before stays with those who fetched it.
/// @errors kNotFound; kPermissionDenied if it belongs to another owner who lets `owner` see it.
Status set_job_access(db::Transaction& tx, const Digest& id, const Address& owner,
                      const Access& access);

/// Records a request of the owner. @errors kNotFound; kConflict for a job that has ended, and for a
/// pause after its last round.
Status request_job(db::Transaction& tx, const Digest& id, JobRequest request);
/// Requests a pause in the owner's place. Nothing happens unless the job runs, nor when its owner
/// requested a pause or the end, also in a transaction that commits meanwhile.
/// @param reason one sentence, becomes the job's status_reason.
Status request_pause_for_owner(db::Transaction& tx, const Digest& id, const std::string& reason);

// Coordinator only.
Result<std::vector<Digest>> active_jobs(db::Transaction& tx);  ///< not ended, oldest first
Status start_job(db::Transaction& tx, const Digest& id, const JobArtifacts& artifacts,
                 UnixMs now_ms);
/// Moves a job along submitted -> running <-> paused -> completed | cancelled | failed.
/// @param answered the request that was acted on: it is cleared, any other one stays for the next
/// tick. The end of a job clears every request. @errors kConflict for any other step.
Status set_job_status(db::Transaction& tx, const Digest& id, JobStatus status,
                      const std::string& reason, UnixMs now_ms,
                      std::optional<JobRequest> answered = {});
/// Handles a job whose model can no longer be trusted: pauses it if it runs, and records the reason
/// in any case but when it has ended. Its owner may end it, or resume it nonetheless.
/// @return whether that changed anything.
Result<bool> pause_untrusted(db::Transaction& tx, const Digest& id, const std::string& reason);

}  // namespace gym::registry
