#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gym/blob/blob_store.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/coordinator/chain_port.hpp"
#include "gym/coordinator/compute.hpp"
#include "gym/coordinator/stake_port.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/crypto/key.hpp"
#include "gym/db/database.hpp"
#include "gym/player/claim.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/job_cost.hpp"
#include "gym/protocol/report.hpp"
#include "gym/protocol/uptime.hpp"
#include "gym/records/node.hpp"
#include "gym/records/task.hpp"
#include "gym/records/unit.hpp"
#include "gym/registry/nodes.hpp"

namespace gym::coordinator {

struct Options {
    crypto::Eip712Domain domain;  ///< protocol::signing_domain()
    /// Who may take part, by role; empty: anybody. An address costs nothing, so an open list of
    /// verifiers lets one person hold most draws.
    std::set<Address> workers_allowed, verifiers_allowed;
    /// Active stake that a worker needs for another unit; zero: none.
    Amount minimum_stake;
    std::int64_t node_live_ms = 30'000;     ///< seen so recently: gets work
    std::uint32_t beacon_delay_blocks = 2;  ///< from the block of the epoch's root to the beacon
    /// The most that a job pays in all for compute worth 1: verification and uptime bonus on top.
    /// What is above 1 also bounds the reports on units that earn nothing. A round starts only when
    /// the budget covers both.
    std::uint64_t cost_bound_ppm = 2'500'000;
    /// The network's fee (rewards::FeeTerms), for data: what compute costs with it is in the bound.
    std::uint32_t fee_ppm = 0;
    [[nodiscard]] protocol::CostRates cost_rates() const { return {cost_bound_ppm, fee_ppm}; }
    /// All deltas of a round are in memory while it is aggregated: a round has no more slots than
    /// fit, but at least one.
    std::uint64_t deltas_bytes_max = std::uint64_t{16} << 30;
    /// How many of the reports that agree with the worker are audited by re-execution.
    std::uint32_t audit_ppm = 20'000;
    /// Of one unit's step records: a job's largest number of steps, all checkpoints, fits, and so
    /// does the message that carries it (rpc::ServerConfig::message_bytes_max).
    std::uint32_t records_bytes_max = 4U << 20U;
    /// Mean time between two uptime challenges to one node; the next one comes after an
    /// exponentially distributed time, so no past tells when.
    std::int64_t challenge_every_ms = 30'000;
    std::int64_t challenge_answer_ms = 20'000;  ///< from a challenge to its deadline
    std::int64_t challenges_kept_ms = protocol::kChallengesKeptMs;
    std::int64_t challenges_pruned_every_ms = 3'600'000;
};

struct Dependencies {
    db::Database& database;  ///< role gym_coordinator
    blob::BlobStore& blobs;
    ChainPort& chain;
    Compute& compute;
    const Clock& clock;
    const crypto::PrivateKey& key;  ///< signs the coordinator's own units
    StakePort* stake = nullptr;     ///< asked where there is a minimum of stake
    /// What is left to a player of games on chain: the aggregates that the coordinator stands by,
    /// and workers that signed two commitments for one unit. Absent: it plays none.
    player::ClaimStore* claims = nullptr;
};

/// What a worker may upload now.
struct UploadLimit {
    Digest unit;
    std::uint64_t bytes_max = 0;  ///< no delta of the unit's program is longer
};

struct RevealOutcome {
    bool equal = false;
    std::string reason;  ///< of a difference, one sentence
};

/// What one tick did.
struct TickSummary {
    std::uint32_t jobs = 0;   ///< looked at
    std::uint32_t steps = 0;  ///< steps of jobs, rounds and units taken; 0: nothing to do now
    std::vector<std::string> notes;   ///< one line each for the log
    std::vector<std::string> errors;  ///< a job that could not move, and why; others went on
};

/// Jobs, rounds, assignment, sampling, disputes, aggregation. Stateless over PostgreSQL and the
/// blob store: several instances may run, each may die anywhere, and the next tick (of any
/// instance) goes on. Calls by nodes name the node that the transport authenticated. Thread-safe;
/// tick() of several threads or instances share the jobs among them (an advisory lock per job).
class Coordinator {
  public:
    /// References must outlive the coordinator.
    Coordinator(Dependencies dependencies, Options options);
    ~Coordinator();
    Coordinator(const Coordinator&) = delete;
    Coordinator& operator=(const Coordinator&) = delete;

    /// Moves every job as far as it goes without waiting. Aggregation, evaluation and refereeing
    /// run inside it. @errors kUnavailable when the database does not answer.
    [[nodiscard]] Result<TickSummary> tick();

    /// Asks the nodes whose moment has come whether they are there; to be called every second or
    /// so, apart from tick(), which may compute for minutes. @return challenges issued.
    [[nodiscard]] Result<std::uint32_t> challenge_nodes();

    // --- nodes
    // -------------------------------------------------------------------------------------
    /// @errors kConflict (the address has the other role), kInvalidArgument.
    [[nodiscard]] Result<registry::Node> register_node(const registry::NewNode& node);
    /// Marks the node as seen and takes its answer to a challenge. Where the answer does not count,
    /// the result says why. @errors kNotFound for an unknown node.
    [[nodiscard]] Result<records::HeartbeatAnswer> heartbeat(
        const Address& node, const std::optional<protocol::UptimeAnswer>& answer = std::nullopt);
    Status leave(const Address& node);
    [[nodiscard]] Result<records::NodeStatus> node_status(const Address& node);

    // --- workers
    // -----------------------------------------------------------------------------------
    /// The worker's assigned unit that is not committed yet; the same one until then. Absent: no
    /// work now.
    /// @errors kNotFound (not registered), kPermissionDenied (excluded, with the reason).
    [[nodiscard]] Result<std::optional<records::TrainTask>> next_unit(const Address& worker);
    /// Absent: the worker has no unit to commit. @errors as next_unit().
    [[nodiscard]] Result<std::optional<UploadLimit>> upload_limit(const Address& worker);
    /// Accepts a commitment once its delta is in the blob store. The same commitment again returns
    /// the same receipt. @errors kUnauthenticated (wrong signature), kPermissionDenied (another
    /// worker's slot, excluded), kConflict (another round's record: a replay; equivocation, which
    /// also rejects the unit and excludes the worker), kTimeout (late), kNotFound (no such unit,
    /// delta not uploaded), kMismatch (counted fields, records that do not hash to their root,
    /// altered delta), kMalformed, kOutOfRange.
    [[nodiscard]] Result<records::CommitmentAck> commit_unit(
        const Address& worker, const protocol::SignedCommitment& commitment, ByteView records);
    /// Anyone may ask. @errors kNotFound.
    [[nodiscard]] Result<records::UnitReceipt> unit_receipt(const Digest& unit);
    /// The worker stands by a disputed unit: the coordinator's own re-execution will decide it.
    /// @errors kPermissionDenied (another's unit), kConflict (not disputed), kTimeout.
    Status defend(const Address& worker, const Digest& unit);

    // --- verifiers
    // ---------------------------------------------------------------------------------
    /// The assigned unit that waits for this verifier's report or reveal; oldest deadline first.
    /// @errors kNotFound, kPermissionDenied as next_unit().
    [[nodiscard]] Result<std::optional<records::VerifyTask>> next_task(const Address& verifier);
    /// The commit half. Repeating the same digest succeeds. @return the step records that the
    /// worker claims, disclosed now that the report is fixed.
    /// @errors kPermissionDenied (not the verifier of this draw), kConflict, kTimeout, kNotFound.
    [[nodiscard]] Result<Bytes> commit_report(const Address& verifier, const Digest& unit,
                                              std::uint32_t draw, const Digest& digest);
    /// The reveal half, with the recomputed step records; decides the unit. Repeating it returns
    /// the same outcome. @errors as commit_report(), kMismatch (does not open the digest, or
    /// records that do not hash to the report's root), kUnauthenticated (positions are not the
    /// verifier's), kMalformed.
    [[nodiscard]] Result<RevealOutcome> reveal_report(const protocol::Report& report,
                                                      ByteView records);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::coordinator
