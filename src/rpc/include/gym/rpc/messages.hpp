#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/lifecycle.hpp"
#include "gym/protocol/report.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/protocol/unit.hpp"
#include "gym/protocol/uptime.hpp"

/// What nodes and the coordinator say to each other, as plain records. The wire form is
/// proto/gym/v1.
namespace gym::rpc {

/// Facts of the network that a node needs before its first signed call.
struct NetworkInfo {
    std::uint64_t chain_id = 0;
    Address commitment_log;  ///< with chain_id, the domain of every signature
    UnixMs server_ms = 0;
    std::uint64_t blob_bytes_max = 0;
    std::uint32_t heartbeat_every_ms = 0;
    std::string software_version;
    /// From the block of an epoch's root to the one that draws its sample.
    std::uint32_t beacon_delay_blocks = 0;
    Address stake;         ///< contract with the workers' stakes; zero: not said
    Address dispute_game;  ///< contract whose verdicts the coordinator follows; zero: not said
    Amount minimum_stake;  ///< what a worker needs for a unit, in wei; zero: nothing

    [[nodiscard]] crypto::Eip712Domain domain() const {
        return protocol::signing_domain(chain_id, commitment_log);
    }
};

enum class NodeRole : std::uint8_t { kWorker = 1, kVerifier = 2 };
/// "worker", "verifier".
[[nodiscard]] std::string_view to_string(NodeRole role) noexcept;

struct NodeProfile {
    NodeRole role = NodeRole::kWorker;
    std::string device;  ///< "cpu", "rtx4090"; at most 64 characters
    std::uint64_t memory_bytes = 0;
    std::uint64_t flops_per_second = 0;  ///< of the registration benchmark
    std::string software_version;

    friend bool operator==(const NodeProfile&, const NodeProfile&) = default;
};

/// What a node is doing right now.
struct Activity {
    std::optional<protocol::UnitKey> unit;
    std::uint64_t step = 0;
    std::uint64_t steps = 0;
    std::string phase = "idle";  ///< "idle", "download", "run", "upload", "verify"
};

/// A sign of life, which may answer an uptime challenge.
struct Beat {
    Activity activity;
    std::optional<protocol::UptimeAnswer> answer;
};

struct HeartbeatAnswer {
    UnixMs server_ms = 0;
    std::string excluded_because;  ///< one sentence; empty for a node in good standing
    std::optional<protocol::UptimeChallenge> challenge;  ///< to be answered at once
    std::string answer_refused;  ///< why the beat's answer counts nothing; else empty
};

/// Where a unit's inputs are: blob roots. What they must decode to is in the round record.
struct UnitInputs {
    Digest program_blob;
    std::optional<Digest> dataset_blob;  ///< of aggregates for deltas that nobody gives away
    Digest base_state_blob;
    std::optional<Digest> momentum_blob;  ///< aggregate units after round 1

    friend bool operator==(const UnitInputs&, const UnitInputs&) = default;
};

struct TrainTask {
    protocol::UnitKey unit;
    protocol::RoundRecord record;
    UnitInputs inputs;
    UnixMs deadline_ms = 0;  ///< for the commitment

    friend bool operator==(const TrainTask&, const TrainTask&) = default;
};

struct VerifyTask {
    protocol::UnitKey unit;
    protocol::RoundRecord record;
    UnitInputs inputs;
    protocol::SignedCommitment commitment;
    Address committer;
    Digest beacon;
    std::uint32_t draw = 0;
    bool report_committed = false;                ///< the reveal is due
    UnixMs deadline_ms = 0;                       ///< for the next half of the report
    std::vector<protocol::IncludedDelta> deltas;  ///< aggregate units: what was aggregated
    std::optional<double> delta_norm_max;  ///< aggregate units: the job's bound, if it has one

    friend bool operator==(const VerifyTask&, const VerifyTask&) = default;
};

using Task = std::variant<TrainTask, VerifyTask>;

struct CommitmentSubmission {
    protocol::SignedCommitment commitment;
    Bytes
        records;  ///< canonical list of the step records, disclosed to a verifier after its report
};

struct CommitmentAccepted {
    Digest unit;
    Digest leaf;  ///< of the epoch's commitment tree
    UnixMs accepted_ms = 0;

    friend bool operator==(const CommitmentAccepted&, const CommitmentAccepted&) = default;
};

struct ReportCommit {
    Digest unit;
    std::uint32_t draw = 0;
    Digest report_digest;
};

struct ReportReveal {
    protocol::Report report;
    Bytes records;  ///< canonical list of the recomputed step records
};

/// Proof that a commitment is under the root that is on chain.
struct InclusionReceipt {
    std::uint64_t epoch = 0;
    Digest commitments_root;
    std::uint64_t leaf_index = 0;
    std::uint64_t leaf_count = 0;
    std::vector<Digest> siblings;

    friend bool operator==(const InclusionReceipt&, const InclusionReceipt&) = default;
};

struct UnitView {
    protocol::UnitKey unit;
    Digest unit_id;
    protocol::UnitKind kind = protocol::UnitKind::kTrain;
    Address worker;
    protocol::UnitState state = protocol::UnitState::kAssigned;
    UnixMs deadline_ms = 0;  ///< what the state waits for; 0: nothing
    std::string reason_code;
    std::string reason;  ///< one sentence
    std::optional<InclusionReceipt> receipt;
    std::optional<protocol::SignedCommitment> commitment;  ///< what the receipt is of

    friend bool operator==(const UnitView&, const UnitView&) = default;
};

struct NodeStatus {
    Address address;
    NodeRole role = NodeRole::kWorker;
    std::string excluded_because;  ///< one sentence; empty for a node in good standing
    std::string idle_because;      ///< one sentence; empty while there is work
    std::uint64_t units_final = 0;
    std::uint64_t units_rejected = 0;
    std::uint64_t units_open = 0;   ///< committed and not decided
    std::uint64_t units_other = 0;  ///< expired, unpaid, void
    std::uint32_t challenges = 0;   ///< of the last hour, whose deadlines are over
    std::uint32_t uptime_ppm = 0;   ///< challenges answered in the last hour
    UnixMs last_seen_ms = 0;
    std::vector<UnitView> open_units;
    std::vector<UnitView> recent_units;  ///< decided, newest first; at most kRecentUnitsMax
    std::string stake_because;           ///< why its stake is not enough for a unit; empty if it is

    friend bool operator==(const NodeStatus&, const NodeStatus&) = default;
};
inline constexpr std::size_t kRecentUnitsMax = 100;

}  // namespace gym::rpc
