#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"
#include "gym/protocol/lifecycle.hpp"
#include "gym/protocol/unit.hpp"

namespace gym::registry {

/// One step of one unit. Train units are what workers are credited for; aggregate units are the
/// coordinator's own. The feed (registry.unit_event) is append-only; seq is taken under a lock
/// that is held until commit, so it has no gaps and a reader that has seen n has seen everything
/// below n.
struct UnitEventRow {
    std::uint64_t seq = 0;
    Digest unit;
    protocol::UnitKey key;
    protocol::UnitKind kind = protocol::UnitKind::kTrain;
    std::optional<protocol::UnitState> from;  ///< absent for the assignment
    protocol::UnitState to = protocol::UnitState::kAssigned;
    UnixMs at_ms = 0;
    std::uint64_t epoch = 0;  ///< of the unit's round (registry.round.epoch)
    Address worker;
    Address owner;                    ///< receives the credit for the unit
    std::optional<Address> verifier;  ///< of the current draw
    std::uint64_t tokens = 0;         ///< 0 before the commitment
    std::uint64_t flops = 0;          ///< 0 before the commitment
    std::string reason_code;
    std::string reason;
};

/// Events with seq > `after_seq`, ascending, at most `limit` (10,000).
Result<std::vector<UnitEventRow>> read_events(db::Transaction& tx, std::uint64_t after_seq,
                                              std::uint32_t limit);
/// The events of one unit, ascending: its history.
Result<std::vector<UnitEventRow>> unit_history(db::Transaction& tx, const Digest& unit);

/// A report whose verifier has earned its re-execution (registry.report.accepted).
struct AcceptedReport {
    std::uint64_t seq = 0;  ///< position in the feed of accepted reports, no gaps, as above
    Digest unit;
    Digest job_id;
    std::uint64_t round = 0;
    std::uint64_t epoch = 0;
    std::uint32_t draw = 0;
    Address verifier;
    Address owner;  ///< receives the credit
    protocol::UnitKind kind = protocol::UnitKind::kTrain;
    std::uint64_t flops = 0;   ///< re-executed
    bool found_fault = false;  ///< the unit was rejected or slashed because of it
    UnixMs at_ms = 0;
};
/// Reports accepted after `after_seq`, ascending, at most `limit` (10,000). A report is accepted
/// when its unit becomes verified, or ends rejected or slashed after the report's difference.
Result<std::vector<AcceptedReport>> read_accepted_reports(db::Transaction& tx,
                                                          std::uint64_t after_seq,
                                                          std::uint32_t limit);

}  // namespace gym::registry
