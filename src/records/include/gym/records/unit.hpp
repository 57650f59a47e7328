#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/lifecycle.hpp"
#include "gym/protocol/report.hpp"
#include "gym/protocol/unit.hpp"

namespace gym::records {

/// Public state of a unit. The registry's row of a unit begins with it.
struct UnitSummary {
    Digest id;
    protocol::UnitKey key;
    protocol::UnitKind kind = protocol::UnitKind::kTrain;
    Address worker;
    /// Messages carry state, deadline and whether it is late: draws and defence stay with the
    /// coordinator.
    protocol::UnitStatus status;
    std::string reason_code;  ///< name of a protocol::ReasonCode; empty: none
    std::string reason;       ///< one sentence

    friend bool operator==(const UnitSummary&, const UnitSummary&) = default;
};

/// Proof that a commitment is under the root that is on chain (commit::merkle_verify()).
struct InclusionReceipt {
    std::uint64_t epoch = 0;
    Digest commitments_root;
    std::uint64_t leaf_index = 0;
    std::uint64_t leaf_count = 0;
    std::vector<Digest> siblings;  ///< at most kSiblingsMax

    friend bool operator==(const InclusionReceipt&, const InclusionReceipt&) = default;
};
inline constexpr std::uint32_t kSiblingsMax = 64;

struct UnitReceipt : UnitSummary {
    std::optional<InclusionReceipt> inclusion;  ///< once the epoch is sealed
    /// Public together with `inclusion`: from then on a copy is recognised.
    std::optional<protocol::SignedCommitment> commitment;

    friend bool operator==(const UnitReceipt&, const UnitReceipt&) = default;
};

struct CommitmentSubmission {
    protocol::SignedCommitment commitment;
    /// Canonical list of the step records; a verifier sees it after it has committed to a report.
    Bytes records;
};

/// The coordinator's acknowledgement of a commitment.
struct CommitmentAck {
    Digest unit;
    Digest leaf;  ///< of the epoch's commitment tree
    UnixMs accepted_ms = 0;

    friend bool operator==(const CommitmentAck&, const CommitmentAck&) = default;
};

/// The first half of a report: its digest (protocol::report_digest()).
struct ReportCommit {
    Digest unit;
    std::uint32_t draw = 0;
    Digest report_digest;
};

/// The second half: the report itself.
struct ReportReveal {
    protocol::Report report;
    Bytes records;  ///< canonical list of the recomputed step records
    /// Over protocol::claim_of(); absent: the verifier does not stake on it.
    std::optional<crypto::Signature> claim_signature = std::nullopt;
};

}  // namespace gym::records
