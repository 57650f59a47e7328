#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/lifecycle.hpp"
#include "gym/protocol/reason.hpp"
#include "gym/protocol/report.hpp"
#include "gym/protocol/unit.hpp"
#include "gym/records/unit.hpp"
#include "gym/registry/games.hpp"

namespace gym::registry {

struct Unit : records::UnitSummary {
    Address owner;  ///< the node's owner when the unit was assigned, who receives the credit
    std::uint32_t sampling_rate_ppm = 0;
    UnixMs assigned_at_ms = 0;
    std::optional<UnixMs> committed_at_ms;
    std::optional<UnixMs> ended_at_ms;
    std::optional<Address> verifier;  ///< of the current draw
    std::optional<Digest> report_digest;
    std::uint64_t tokens = 0;  ///< counted; 0 until committed
    std::uint64_t flops = 0;   ///< counted from the program; 0 until committed
    std::optional<Digest> delta_root;
    std::optional<std::uint64_t> epoch;       ///< whose commitment root holds it
    std::optional<std::uint32_t> leaf_index;  ///< in the epoch's commitment tree
    bool included = false;                    ///< its delta went into a base state,
    bool included_late = false;               ///< the one after the next

    /// The round whose epoch, block and beacon are the unit's.
    [[nodiscard]] std::uint64_t epoch_round() const { return key.round + (status.late ? 1 : 0); }
};

struct NewUnit {
    protocol::UnitKey key;
    protocol::UnitKind kind = protocol::UnitKind::kTrain;
    Address worker;
    Address owner;
    std::uint32_t sampling_rate_ppm = kPpm;
};

/// Inserts units as assigned, in one statement. @errors kAlreadyExists.
Status assign_units(db::Transaction& tx, std::span<const NewUnit> units,
                    const protocol::LifecycleParams& params, UnixMs now_ms);
inline Status assign_unit(db::Transaction& tx, const NewUnit& unit,
                          const protocol::LifecycleParams& params, UnixMs now_ms) {
    return assign_units(tx, {&unit, 1}, params, now_ms);
}

/// @errors kNotFound.
Result<Unit> get_unit(db::Transaction& tx, const Digest& id);
Result<std::optional<Unit>> find_unit(db::Transaction& tx, const Digest& id);

/// Room for every unit of a round, the coordinator's own included.
inline constexpr std::uint32_t kUnitsListMax = 1U << 17U;

/// The states that an event can still lead out of, and the others.
[[nodiscard]] const std::vector<protocol::UnitState>& open_states();
[[nodiscard]] const std::vector<protocol::UnitState>& terminal_states();

struct UnitFilter {
    std::optional<Digest> job_id;
    std::optional<std::uint64_t> round;
    std::optional<Address> worker;
    std::optional<Address> verifier;  ///< of the current draw
    std::optional<std::uint64_t> epoch;
    /// The round whose epoch and beacon are the unit's: its own, or of late ones the next.
    std::optional<std::uint64_t> epoch_round;
    std::optional<bool> late;
    std::optional<protocol::UnitKind> kind;
    std::vector<protocol::UnitState> states;  ///< empty: all
    std::uint32_t limit = 1000;               ///< at most kUnitsListMax
};
/// Newest round first, then ascending by slot and attempt.
Result<std::vector<Unit>> list_units(db::Transaction& tx, const UnitFilter& filter);

/// Units that keep their workers from others: assigned and disputed ones, of all workers.
Result<std::vector<Unit>> busy_units(db::Transaction& tx);

/// The unit that a node works on next: the train unit that was assigned to a worker first, a
/// verifier's drawn unit with the earliest deadline. Units whose deadline is over are left out;
/// nodes that have none, too. @param computed units that their workers are done with, and have not
/// committed to yet: left out.
Result<std::map<Address, Unit>> next_train_units(db::Transaction& tx,
                                                 std::span<const Address> workers, UnixMs now_ms,
                                                 std::span<const Digest> computed = {});
Result<std::map<Address, Unit>> next_drawn_units(db::Transaction& tx,
                                                 std::span<const Address> verifiers, UnixMs now_ms);
/// All nodes with such a unit, and verifiers with a prefix to run (prefixes.hpp).
Result<std::vector<Address>> nodes_with_units(db::Transaction& tx, UnixMs now_ms);

struct UnitCounts {
    std::uint64_t final = 0;
    std::uint64_t rejected = 0;  ///< and slashed
    std::uint64_t open = 0;      ///< committed and not terminal
    std::uint64_t other = 0;     ///< expired, unpaid, void
};
/// The train units of a worker.
Result<UnitCounts> count_units(db::Transaction& tx, const Address& worker);

/// Takes the lock that orders the feed. A transaction that moves more than one unit takes it first,
/// so that two of them cannot deadlock.
Status lock_feed(db::Transaction& tx);

/// Applies one event of the state machine to a unit, stores the new state and writes the feed.
/// Committed takes the counted fields from store_commitment(), called before. `reason` replaces the
/// stored one; what time alone decides (expired, unpaid, no defence) has a reason of its own. A
/// redraw notes the draw that was missed and clears the verifier; a final train unit lengthens the
/// worker's run of valid units and a proven fault ends it; the report that a unit ended by is
/// accepted for payment, unless its verifier was excluded. @return the unit afterwards. @errors
/// those of protocol::apply, kNotFound.
Result<Unit> advance(db::Transaction& tx, const Digest& id, const protocol::UnitEvent& event,
                     const protocol::LifecycleParams& params, UnixMs now_ms,
                     const std::optional<protocol::Reason>& reason = std::nullopt);

/// One step of one unit.
struct UnitStep {
    Digest id;
    protocol::UnitEvent event;
    std::optional<protocol::Reason> reason{};
};
/// advance() for many different units, in a number of statements that does not depend on theirs.
/// Any error undoes all. @return the units afterwards, in the order of `steps`.
Result<std::vector<Unit>> advance_all(db::Transaction& tx, std::span<const UnitStep> steps,
                                      const protocol::LifecycleParams& params, UnixMs now_ms);

/// FLOPs a second of each worker: the median over its last three committed units, from assignment,
/// or from the commitment before if that was later, to commitment, transfers included. Workers
/// without one are left out.
Result<std::map<Address, double>> paces_of(db::Transaction& tx, std::span<const Address> workers);

/// How many of each worker's latest train units, one after the other, expired: 1 to kExpiredMax.
/// Workers whose latest unit did not are left out; one under way does not count.
inline constexpr std::uint32_t kExpiredMax = 8;
Result<std::map<Address, std::uint32_t>> expired_in_a_row(db::Transaction& tx,
                                                          std::span<const Address> workers);

/// What keeps units from becoming final.
struct FinalityWaits {
    std::optional<GameWatch> games = {};  ///< absent: the network plays none
    /// Milliseconds from its naming for which a delta that only one mirror has keeps its unit from
    /// becoming final; its worker keeps the delta meanwhile.
    std::int64_t delta_wait_ms = 0;
};

/// Units of a job that time alone moves on, oldest deadline first, at most `limit`. A passed
/// deadline is enough, except for units that would become final: those wait until their report is
/// audited if it is to be, until a second mirror or the coordinator has their delta, and, where
/// games are played, until none can be opened about them any more, none about any unit of their
/// worker is open that was opened by then, and no fault of it is unsettled here.
Result<std::vector<Unit>> overdue_units(db::Transaction& tx, const Digest& job_id, UnixMs now_ms,
                                        const FinalityWaits& waits, std::uint32_t limit = 1000);

// --- commitments
// -------------------------------------------------------------------------------------

struct StoredCommitment {
    protocol::SignedCommitment commitment;
    Digest leaf;
    Bytes records;  ///< the worker's step records (engine::encode_records), not published before
                    ///< the end
    UnixMs received_at_ms = 0;
};
/// Stores the one commitment of a unit; advance(Committed) follows in the same transaction.
/// @errors kAlreadyExists.
Status store_commitment(db::Transaction& tx, const Digest& unit,
                        const protocol::SignedCommitment& commitment, ByteView records,
                        UnixMs now_ms);
Result<std::optional<StoredCommitment>> find_commitment(db::Transaction& tx, const Digest& unit);
struct SignedUnit {
    Digest unit;
    Address worker;  ///< the signer
    protocol::SignedCommitment commitment;
};
/// A worker's signed commitments, without the records, newest round first.
Result<std::vector<SignedUnit>> signed_commitments(db::Transaction& tx, const Address& worker,
                                                   std::uint32_t limit = kUnitsListMax);
/// Units that may be in an open game that has proven nothing yet, and are not disputed: of the
/// workers that are in such games the units of a job that are unsampled or verified, in aggregated
/// rounds.
Result<std::vector<SignedUnit>> units_to_challenge(db::Transaction& tx, const Digest& job_id,
                                                   const Address& contract);
/// Keeps the second signed commitment as evidence; of more than two the first two.
Status store_equivocation(db::Transaction& tx, const Digest& unit,
                          const protocol::SignedCommitment& second, UnixMs now_ms);
Result<bool> has_equivocation(db::Transaction& tx, const Digest& unit);
/// Two signed commitments of one worker for one unit: what a game on chain is won with when it is
/// opened.
struct Equivocation {
    Digest unit;
    protocol::UnitKey key;
    Address worker;
    protocol::SignedCommitment first, second;
    UnixMs received_at_ms = 0;  ///< the second
};
/// Those that no player was given yet, oldest first, at most `limit`.
Result<std::vector<Equivocation>> unfiled_equivocations(db::Transaction& tx,
                                                        std::uint32_t limit = 100);
Status mark_equivocation_filed(db::Transaction& tx, const Digest& unit, UnixMs now_ms);
/// Puts committed units into an epoch's tree, in this order.
Status set_epoch(db::Transaction& tx, std::uint64_t epoch, const std::vector<Digest>& units);

struct EpochLeaf {
    Digest unit;
    Digest leaf;
};
/// The leaves of an epoch's commitment tree in their order.
Result<std::vector<EpochLeaf>> epoch_leaves(db::Transaction& tx, std::uint64_t epoch);
/// All commitments of an epoch in the order of their leaves.
Result<std::vector<protocol::SignedCommitment>> epoch_commitments(db::Transaction& tx,
                                                                  std::uint64_t epoch);
/// Notes what the aggregate of `round` included: of held deltas, that they are late; of withdrawn
/// ones, that it subtracted them.
Status set_included(db::Transaction& tx, std::uint64_t round,
                    std::span<const protocol::IncludedDelta> included);
/// Units whose deltas went into aggregates before that of `round`, not more than
/// protocol::kWithdrawnAgeMax rounds, and were not subtracted, of workers of whom the contract has
/// seen a fault proven, perhaps of another unit. The oldest first, `limit` at most.
Result<std::vector<Unit>> suspect_included(db::Transaction& tx, const Digest& job_id,
                                           std::uint64_t round, const Address& contract,
                                           std::uint32_t limit);
/// What the aggregate of a round included, in the order of a record's list.
Result<std::vector<protocol::IncludedDelta>> included_deltas(db::Transaction& tx,
                                                             const Digest& job_id,
                                                             std::uint64_t round);

// --- reports
// -----------------------------------------------------------------------------------------

struct StoredReport {
    Digest unit;
    std::uint32_t draw = 0;
    Address verifier;
    Digest digest;
    UnixMs committed_at_ms = 0;
    std::optional<protocol::Report> revealed;
    std::optional<UnixMs> revealed_at_ms;
    bool equal = false;     ///< valid once revealed
    bool accepted = false;  ///< the unit ended as it says, so it is paid
    Bytes records;          ///< the recomputed step records
};
struct DrawnVerifier {
    Digest unit;
    Address verifier;
};
/// The verifiers of the units' current draws, in one statement. @errors kConflict for a unit that
/// waits for no verifier.
Status set_verifiers(db::Transaction& tx, std::span<const DrawnVerifier> drawn);
inline Status set_verifier(db::Transaction& tx, const Digest& unit, const Address& verifier) {
    const DrawnVerifier drawn{unit, verifier};
    return set_verifiers(tx, {&drawn, 1});
}
Status store_report(db::Transaction& tx, const Digest& unit, std::uint32_t draw,
                    const Address& verifier, const Digest& digest, UnixMs now_ms);
Status store_reveal(db::Transaction& tx, const protocol::Report& report, ByteView records,
                    bool equal, UnixMs now_ms);
/// All draws of a unit, ascending. Unanswered draws are in missed_draws().
Result<std::vector<StoredReport>> list_reports(db::Transaction& tx, const Digest& unit);
/// Draws of a unit that a verifier let pass: how many.
struct MissedDraws {
    Address verifier;
    std::uint32_t count = 0;
};
struct MissedDraw {
    Digest unit;
    std::uint32_t draw = 0;
    Address verifier;
};
/// Notes draws that verifiers let pass, in one statement; one that is noted already stays.
Status store_missed_draws(db::Transaction& tx, std::span<const MissedDraw> missed, UnixMs now_ms);
/// Of the units for which there are any, ascending by verifier.
Result<std::map<Digest, std::vector<MissedDraws>>> missed_draws(db::Transaction& tx,
                                                                std::span<const Digest> units);

}  // namespace gym::registry
