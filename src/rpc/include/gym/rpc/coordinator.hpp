#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "gym/protocol/prefix.hpp"
#include "gym/records/network.hpp"
#include "gym/records/node.hpp"
#include "gym/records/task.hpp"
#include "gym/records/unit.hpp"

namespace gym::rpc {

/// Leave to upload a delta to mirrors.
struct UploadPermit {
    Bytes ticket;                      ///< encoded rpc::UploadTicket; empty: put_blob() takes it
    std::vector<std::string> mirrors;  ///< that take it
    std::uint32_t copies = 2;          ///< to so many of them it is sent
};

inline constexpr std::size_t kDeltaMirrorsMax = 4;  ///< that a delta is named at
inline constexpr std::size_t kWantedDeltasMax = 64;
inline constexpr std::size_t kComputedMax = 4;  ///< units that a worker has not committed to yet

/// A node's interface to a coordinator. The node cores know only this; rpc::connect() makes one
/// that speaks over the network. Every call may be repeated: the second time changes nothing and
/// answers the same. Implementations are thread-safe. @errors of every call: kUnavailable (no
/// answer; retrying may help), kUnauthenticated, and what the coordinator says.
class Coordinator {
  public:
    virtual ~Coordinator() = default;

    /// Requested when calls under way are to end (kCancelled), and what is done beside them.
    [[nodiscard]] virtual std::stop_token stop() const { return {}; }
    virtual Result<records::NetworkDescription> network() = 0;
    /// @return whether the node is new. @errors kPermissionDenied for an excluded node.
    virtual Result<bool> register_node(const records::NodeProfile& profile) = 0;
    virtual Result<records::HeartbeatAnswer> heartbeat(const records::Heartbeat& beat) = 0;
    /// Signs off: no work for this node until its next heartbeat.
    virtual Status leave() = 0;
    /// Waits at most `wait_max` for a task; absent if there was none. @param computed units that
    /// the worker is done with, and has not committed to yet: it gets another one. At most
    /// kComputedMax.
    virtual Result<std::optional<records::Task>> next_task(std::chrono::milliseconds wait_max,
                                                           std::span<const Digest> computed) = 0;
    Result<std::optional<records::Task>> next_task(std::chrono::milliseconds wait_max) {
        return next_task(wait_max, {});
    }

    /// Hands the blob's bytes from `offset` on to `sink`, in order. The bytes are not checked here:
    /// the caller has the whole blob and its root. @errors kNotFound, and those of `sink`.
    using ChunkSink = std::function<Status(ByteView chunk, std::uint64_t blob_size_bytes)>;
    virtual Status get_blob(const Digest& root, std::uint64_t offset, const ChunkSink& sink) = 0;
    /// @errors kMismatch unless `content` hashes to `root`; kOutOfRange beyond the network's bound;
    /// kPermissionDenied for a node without a unit.
    virtual Status put_blob(const Digest& root, ByteView content) = 0;

    /// The network's mirrors now; network() remembers those of its first answer.
    virtual Result<std::vector<std::string>> mirrors() {
        GYM_TRY(const records::NetworkDescription now, network());
        return now.mirrors;
    }
    /// Where the delta of the caller's unit may go. The defaults are those of a network without
    /// mirrors. @errors kPermissionDenied for a node without a unit; kOutOfRange.
    virtual Result<UploadPermit> permit_upload(const Digest& /*root*/, std::uint64_t /*size*/) {
        return UploadPermit{};
    }
    /// Says that these mirrors have the delta, so that it counts as uploaded. @errors
    /// kInvalidArgument for a mirror that the network does not name; kPermissionDenied for a node
    /// without a unit, and for one of a job that is not public.
    virtual Status name_delta(const Digest& /*root*/, const std::vector<std::string>& /*mirrors*/) {
        return fail(ErrorCode::kInvalidArgument, "this network has no mirrors");
    }
    /// Deltas of the caller's open units that it named and no mirror gave: put_blob() takes them.
    virtual Result<std::vector<Digest>> wanted_deltas() { return std::vector<Digest>(); }

    virtual Result<records::CommitmentAck> submit_commitment(
        const records::CommitmentSubmission& submission) = 0;
    /// @return the canonical step records that the worker claims.
    virtual Result<Bytes> submit_report_commit(const records::ReportCommit& commit) = 0;
    /// @return whether the report equals the commitment. @errors kUnavailable before its time.
    virtual Result<bool> submit_report_reveal(const records::ReportReveal& reveal) = 0;
    /// A worker sends the result of the first steps of its unit, which replaces the one before; a
    /// verifier with a PrefixTask sends its report. @errors of a worker: kConflict for fewer steps
    /// than before, or once the unit has ended; kOutOfRange for one too soon after the one before.
    virtual Status submit_prefix(const protocol::SignedPrefix& prefix) = 0;
    /// Answers a dispute of the caller's own unit, so that the referee must rule.
    virtual Status defend_unit(const Digest& unit) = 0;

    /// The caller's own status, or another node's.
    virtual Result<records::NodeStatus> node_status(const std::optional<Address>& address) = 0;
    /// In the bytes that are served, which need not decode: disputes are about those.
    virtual Result<Bytes> round_record(const Digest& job_id, std::uint64_t round) = 0;
    virtual Result<records::UnitReceipt> unit(const Digest& unit_id) = 0;
};

}  // namespace gym::rpc
