#pragma once

#include <optional>
#include <variant>

#include "gym/protocol/commitment.hpp"
#include "gym/protocol/lifecycle.hpp"
#include "gym/protocol/report.hpp"
#include "gym/protocol/round_record.hpp"

/// Messages of the simulated nodes and the coordinator. Signatures are left out: who sent a message
/// is part of the envelope, as after authentication.
namespace gym::sim {

using NodeId = std::uint32_t;  // index into Simulation's nodes
inline constexpr NodeId kCoordinator = ~NodeId{0};

struct Poll {};  // node -> coordinator; answered with Assignment, Task, Disputed or nothing
struct Assignment {
    protocol::UnitKey key;
    protocol::RoundRecord record;
};
struct Commit {
    Digest unit;
    protocol::UnitCommitment commitment;
};
struct CommitTaken {
    Digest unit;
};
struct Disputed {
    Digest unit;
};
struct Defend {
    Digest unit;
};
struct Task {
    Digest unit;
    protocol::UnitKey key;
    Digest beacon;
    std::uint32_t draw = 0;
};
struct ReportCommit {
    Digest unit;
    std::uint32_t draw = 0;
    Digest digest;
};
struct ReportTaken {
    Digest unit;
    std::uint32_t draw = 0;
};
struct Reveal {
    protocol::Report report;
};

using Message = std::variant<Poll, Assignment, Commit, CommitTaken, Disputed, Defend, Task,
                             ReportCommit, ReportTaken, Reveal>;

struct Envelope {
    NodeId from = 0;
    NodeId to = 0;
    Message message;
};

/// The result of an honest run of a unit: a function of its key alone.
struct Truth {
    Digest records_root;
    Digest final_state_root;
    Digest delta_root;
};
[[nodiscard]] Truth truth_of(const protocol::UnitKey& key);

}  // namespace gym::sim
