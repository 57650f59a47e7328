#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/protocol/uptime.hpp"
#include "gym/registry/challenges.hpp"
#include "gym/registry/nodes.hpp"
#include "gym/registry/rounds.hpp"
#include "gym/registry/units.hpp"

/// What the coordinator answers to workers and verifiers. Roots say what a blob hashes to as a
/// program, state or dataset; `*_blob` is the name to fetch its bytes by. Check both.
namespace gym::coordinator {

struct UnitAssignment {
    Digest unit;
    protocol::UnitKey key;
    protocol::RoundRecord record;  ///< hash it: that hash is on chain, and the commitment names it
    Digest record_hash;
    Digest program_blob;
    Digest dataset_blob;
    Digest base_blob;
    UnixMs deadline_ms = 0;
    std::uint64_t delta_bytes_max = 0;  ///< no delta of the program is longer
};

struct CommitReceipt {
    Digest unit;
    Digest leaf;  ///< of the epoch's commitment tree
    UnixMs received_at_ms = 0;
};

/// Proof that a commitment is under the root on chain.
struct InclusionReceipt {
    std::uint64_t epoch = 0;
    Digest commitments_root;
    std::optional<std::uint64_t> posted_block;  ///< once the root is on chain
    std::uint32_t leaf_index = 0;
    std::uint32_t leaf_count = 0;
    Digest leaf;
    std::vector<Digest> siblings;  ///< commit::merkle_verify
};

struct UnitReceipt {
    registry::Unit unit;
    std::optional<InclusionReceipt> inclusion;  ///< once the epoch is sealed
    std::optional<protocol::SignedCommitment>
        commitment;  ///< then, too: nobody can copy it any more
};

struct VerificationTask {
    Digest unit;
    protocol::UnitKey key;
    /// kTrain: re-execute the slot. kAggregate: recompute the outer step over `included` from
    /// `base` and `momentum`; report records root, next base root as final state root, next
    /// momentum root as delta root.
    protocol::UnitKind kind = protocol::UnitKind::kTrain;
    protocol::RoundRecord record;
    Digest record_hash;
    protocol::SignedCommitment commitment;  ///< public: it is under the root on chain
    Address committer;
    std::uint32_t draw = 0;
    Digest beacon;
    Digest program_blob;
    Digest dataset_blob;
    registry::StateRef base;
    registry::StateRef momentum;
    std::vector<protocol::IncludedDelta>
        included;                          ///< of kAggregate; a delta's root names its blob
    std::optional<double> delta_norm_max;  ///< of kAggregate: what left others out
    /// kSampled: commit to a report until the deadline; kReported: reveal it until then.
    protocol::UnitState state = protocol::UnitState::kSampled;
    UnixMs deadline_ms = 0;
};

struct RevealOutcome {
    bool equal = false;
    std::string reason;  ///< of a difference, one sentence
};

struct HeartbeatOutcome {
    std::optional<protocol::UptimeChallenge> challenge;  ///< the oldest that waits for an answer
    std::string
        answer_refused;  ///< why the answer counts nothing; empty if it does, or without one
};

struct NodeStatus {
    registry::Node node;
    registry::UnitCounts units;  ///< as worker
    registry::Uptime uptime_last_hour;
    std::vector<registry::Unit> open_units;    ///< not terminal, as worker or assigned verifier
    std::vector<registry::Unit> recent_units;  ///< terminal, newest first, at most 20
    std::string idle_because;                  ///< one sentence, empty while there is work
    std::string stake_because;  ///< why its stake is not enough for a unit; empty if it is
};

}  // namespace gym::coordinator
