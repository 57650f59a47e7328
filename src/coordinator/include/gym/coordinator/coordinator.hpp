#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/coordinator/options.hpp"
#include "gym/coordinator/results.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/prefix.hpp"
#include "gym/protocol/report.hpp"
#include "gym/protocol/uptime.hpp"
#include "gym/records/node.hpp"
#include "gym/records/task.hpp"
#include "gym/records/unit.hpp"
#include "gym/registry/nodes.hpp"

namespace gym::coordinator {

/// Jobs, rounds, assignment, sampling, disputes, aggregation. Stateless over PostgreSQL and the
/// blob store: several instances may run, each may die anywhere, and the next tick (of any
/// instance) continues. Calls by nodes name the node that the transport authenticated. Thread-safe;
/// tick() of several threads or instances share the jobs among them (an advisory lock per job).
class Coordinator {
  public:
    /// References must outlive the coordinator.
    Coordinator(Dependencies dependencies, Options options);
    ~Coordinator();
    Coordinator(const Coordinator&) = delete;
    Coordinator& operator=(const Coordinator&) = delete;

    /// Moves every job as far as it goes without waiting. Aggregation, evaluation and refereeing
    /// run inside it, audits beside it: a later tick takes their results. @errors kUnavailable when
    /// the database does not answer.
    [[nodiscard]] Result<TickSummary> tick();

    /// Asks the nodes whose moment has come whether they are there; to be called every second or
    /// so, apart from tick(), which may compute for minutes. @return challenges issued.
    [[nodiscard]] Result<std::uint32_t> challenge_nodes();

    // Calls of any node.

    /// @errors kConflict (the address has the other role), kInvalidArgument.
    [[nodiscard]] Result<registry::Node> register_node(const registry::NewNode& node);
    /// Marks the node as seen and takes its answer to a challenge. Where the answer does not count,
    /// the result says why. @errors kNotFound for an unknown node.
    [[nodiscard]] Result<records::HeartbeatAnswer> heartbeat(
        const Address& node, const std::optional<protocol::UptimeAnswer>& answer = std::nullopt);
    /// The same for heartbeats that arrived together: one transaction, and one result for each.
    [[nodiscard]] std::vector<Result<records::HeartbeatAnswer>> heartbeats(
        std::span<const Beat> beats);
    Status leave(const Address& node);
    /// What each of these nodes is to do now, read together: next_unit() of a worker, next_task()
    /// of a verifier. @param computed units of theirs that they are done with, though not committed
    /// yet: of a job with an overlap they get the next one.
    [[nodiscard]] std::vector<Result<std::optional<records::Task>>> next_tasks(
        std::span<const Address> nodes, std::span<const Digest> computed = {});
    /// All nodes for which next_tasks() has something.
    [[nodiscard]] Result<std::vector<Address>> nodes_with_tasks();
    [[nodiscard]] Result<records::NodeStatus> node_status(const Address& node);

    // Calls of workers.

    /// The worker's assigned unit that is not committed yet; the same one until then. Absent: no
    /// work now.
    /// @errors kNotFound (not registered), kPermissionDenied (excluded, with the reason).
    [[nodiscard]] Result<std::optional<records::TrainTask>> next_unit(const Address& worker);
    /// Absent: the worker has no unit to commit. @errors as next_unit().
    [[nodiscard]] Result<std::optional<UploadLimit>> upload_limit(const Address& worker);
    /// The most bytes of a delta that the worker has committed to and may send again: it sent it
    /// before, or no mirror gave it. Absent for any other.
    [[nodiscard]] Result<std::optional<std::uint64_t>> committed_delta_bytes(const Address& worker,
                                                                             const Digest& root);
    /// The worker has sent the bytes of a delta, which are in the blob store.
    Status note_upload(const Address& worker, const Digest& root);
    /// The worker has put the delta of its unit on mirrors, from which DeltaCollector fetches it
    /// after the commitment. @errors kPermissionDenied without a unit, or for a job that is not
    /// public.
    Status name_delta(const Address& worker, const Digest& root,
                      const std::vector<std::string>& mirrors);
    /// Deltas of open units that no mirror gave, which the worker is to upload.
    [[nodiscard]] Result<std::vector<Digest>> wanted_deltas(const Address& worker);
    /// Accepts a commitment once the worker has uploaded its delta or, of a public job, named
    /// mirrors that have it; that one is decoded when the round is aggregated. The same commitment
    /// again returns the same receipt. @errors kUnauthenticated (wrong signature),
    /// kPermissionDenied (another worker's slot, excluded), kConflict (another round's record: a
    /// replay; equivocation, which also rejects the unit and excludes the worker), kTimeout (late),
    /// kNotFound (no such unit, delta not uploaded), kMismatch (counted fields, records that do not
    /// hash to their root, altered delta), kMalformed, kOutOfRange.
    [[nodiscard]] Result<records::CommitmentAck> commit_unit(
        const Address& worker, const protocol::SignedCommitment& commitment, ByteView records);
    /// Keeps what the worker signed about the first steps of its unit, in the place of what it
    /// signed before, as long as a commitment would be taken. Only if the unit then ends without a
    /// commitment does it count. The same again changes nothing. @errors kUnauthenticated (wrong
    /// signature), kPermissionDenied (another worker's slot, excluded), kNotFound (no such round or
    /// slot), kOutOfRange (no steps, more than the slot has, or too soon after the one before),
    /// kMismatch (attempt, a link of zero), kConflict (the unit is not assigned any more; fewer
    /// steps than before, or another link of as many), kTimeout.
    Status keep_prefix(const Address& worker, const protocol::SignedPrefix& prefix);
    /// Anyone may ask. @errors kNotFound.
    [[nodiscard]] Result<records::UnitReceipt> unit_receipt(const Digest& unit);
    /// The worker defends a disputed unit: the coordinator's own re-execution will decide it.
    /// @errors kPermissionDenied (another's unit), kConflict (not disputed), kTimeout.
    Status defend(const Address& worker, const Digest& unit);

    // Calls of verifiers.

    /// The assigned unit that waits for this verifier's report or reveal; oldest deadline first.
    /// Absent while it has no unit, and perhaps a prefix: next_tasks() has both.
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
    /// verifier's, or `claim` is not), kMalformed, kInvalidArgument (no `claim` where verifiers
    /// stake on what they report on train units).
    /// @param claim the verifier's signature over protocol::claim_of().
    [[nodiscard]] Result<RevealOutcome> reveal_report(
        const protocol::Report& report, ByteView records,
        const std::optional<crypto::Signature>& claim = std::nullopt);
    /// Takes the report of the verifier of a prefix's draw. Repeating it succeeds. @errors
    /// kUnauthenticated, kNotFound, kMismatch, kOutOfRange as keep_prefix(); kPermissionDenied (not
    /// the verifier of this draw), kConflict (it reported something else), kTimeout.
    Status report_prefix(const Address& verifier, const protocol::SignedPrefix& found);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::coordinator
