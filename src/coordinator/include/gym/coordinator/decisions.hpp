#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/protocol/delta_size.hpp"
#include "gym/protocol/lifecycle.hpp"
#include "gym/protocol/reason.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/protocol/stake_rule.hpp"
#include "gym/protocol/unit_fit.hpp"
#include "gym/records/unit.hpp"
#include "gym/registry/games.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/nodes.hpp"
#include "gym/registry/rounds.hpp"
#include "gym/registry/units.hpp"

/// The coordinator's decisions as pure functions of stored facts and the time; drivers read the
/// facts and carry the decisions out. No database, chain, engine or clock.
namespace gym::coordinator {

// Jobs.

struct JobChange {
    registry::JobStatus status = registry::JobStatus::kRunning;
    std::string reason;
    friend bool operator==(const JobChange&, const JobChange&) = default;
};
/// The change that the owner's request makes to the job. Absent: there is no request, or it waits
/// until the job is prepared.
[[nodiscard]] std::optional<JobChange> answer_request(const registry::Job& job);
[[nodiscard]] bool is_complete(const registry::Job& job, std::size_t open_rounds);
/// Why the job has to pause before another round; absent if it runs on, or does not run.
/// @param needed budget for all that was or may still be paid, and one more round.
[[nodiscard]] std::optional<std::string> budget_pause(const registry::Job& job,
                                                      const Amount& needed);

// The next round.

/// No delta of the job is longer.
[[nodiscard]] std::uint64_t delta_bytes_max(const registry::Job& job);
/// The number of the job's last round. With an overlap one without slots comes after those that
/// train: nobody computes in it, and the last deltas go into the aggregate that its record names.
[[nodiscard]] std::uint64_t last_round_of(const registry::JobTerms& terms);
/// Whether the round's units train. @param round from 1.
[[nodiscard]] inline bool has_slots(const registry::JobTerms& terms, std::uint64_t round) {
    return round <= terms.rounds;
}
/// The number of the round that may be planned after `last`; absent while that has no next base
/// state, and after the job's last round.
[[nodiscard]] std::optional<std::uint64_t> next_round(const registry::Job& job,
                                                      const std::optional<registry::Round>& last);
/// @param deltas_bytes_max of all deltas of an aggregate together, which are in the store at once.
/// With held deltas a round has two thirds of the slots, so that half as many again fit in beside
/// its own; held ones beyond that are left out.
[[nodiscard]] std::uint64_t slots_of_round(const registry::Job& job,
                                           std::uint64_t deltas_bytes_max);
/// Of the deltas that an aggregate of the job takes, those that go in: a job that subtracts keeps
/// an eighth of the room, and at most that for protocol::kWithdrawnMax, for deltas that are
/// withdrawn. At least one.
[[nodiscard]] std::uint64_t room_for_added(const registry::Job& job,
                                           std::uint64_t deltas_bytes_max);
/// The most deltas that an aggregate of the job takes.
[[nodiscard]] std::uint64_t deltas_of_aggregate(const registry::Job& job,
                                                std::uint64_t deltas_bytes_max);
[[nodiscard]] std::uint64_t slots_of_round(std::uint64_t slots_max, std::uint64_t delta_bytes,
                                           std::uint64_t deltas_bytes_max);
using protocol::SizeLimits;
/// Why the job has to pause because its deltas are too large: no worker could send one, or no round
/// could have the workers that the job demands. Absent if they are not, or if it does not run.
[[nodiscard]] std::optional<std::string> size_pause(const registry::Job& job,
                                                    const SizeLimits& limits);
/// Whether a worker with these open units may get another one. A game alone does not
/// keep a worker from work: what it does meanwhile is void if the game shows a fault.
[[nodiscard]] bool is_free(std::span<const registry::Unit> open_units);
/// Whether it may get one of the round after `last`, where the rounds of `last`'s job overlap: it
/// computes its unit of `last` meanwhile, and no other.
[[nodiscard]] bool is_free_after(const registry::Round& last,
                                 std::span<const registry::Unit> open_units);
/// Whether one of them is late and not committed yet: no round waits for its worker.
[[nodiscard]] bool is_late(std::span<const registry::Unit> open_units);
/// Whether a report that the referee has not refuted disputes one of them: how long that takes is
/// not known.
[[nodiscard]] bool is_disputed(std::span<const registry::Unit> open_units);
/// A round of a job that gives slots to workers, and the beacon that ranks them.
struct SlotDraw {
    Digest job_id;
    std::uint64_t round = 0;
    std::optional<registry::DrawnBeacon> before;  ///< absent: nothing was ever drawn
};
/// At most `slots` of the workers, slot after slot: by the hash of the beacon before and their
/// addresses. Workers that registered when that beacon could be known come behind all others, by
/// the time of registration: no one may make up an address that suits it.
[[nodiscard]] std::vector<registry::Node> choose_workers(const SlotDraw& draw,
                                                         std::vector<registry::Node> workers,
                                                         std::uint64_t slots);
/// Content of a round's record; its roots for disputes are computed apart.
struct Plan {
    protocol::RoundRecord record;
    registry::StateRef base;
    registry::StateRef momentum;
};
/// What bounds the steps of workers' units.
struct Paces {
    /// FLOPs a second of those that have worked (registry::paces_of). The others are taken to be as
    /// fast as their own benchmark says, by what it said of those.
    std::map<Address, double> measured;
    /// Units in a row that a worker let expire (registry::expired_in_a_row). Each halves what it is
    /// expected to do: one whose line is too slow for its first unit gets a unit that it can
    /// finish, and then has a measured pace.
    std::map<Address, std::uint32_t> expired = {};
    /// Steps of a unit that a worker's stake backs (protocol::steps_backed); absent: all.
    std::map<Address, std::uint32_t> backed = {};
};
/// Steps of each worker's unit: the job's, or, where it adapts them, fewer for workers that are
/// slower than the median pace, in proportion, and a tenth less for those whose units are all
/// drawn, if that is the smaller part of the workers; no more than its benchmark says that it does
/// before the deadline, nor than its stake backs; at least 1.
/// @param flops_per_step 0: not known, then all units are drawn.
[[nodiscard]] std::vector<std::uint32_t> steps_of(const registry::JobTerms& terms,
                                                  std::span<const registry::Node> workers,
                                                  const Paces& paces,
                                                  std::uint64_t flops_per_step = 0);
/// The shortest unit that the job gives: of one step where it adapts them.
[[nodiscard]] protocol::UnitLength least_unit(const registry::Job& job);
/// What that unit pays. @param job with artifacts.
[[nodiscard]] protocol::UnitPay least_pay(const registry::Job& job);
/// The round after `last` (the first one if there is none), one slot for each worker.
/// @param included deltas of `last` that made its next base state. @param paces as in steps_of().
[[nodiscard]] Plan make_plan(const registry::Job& job, const std::optional<registry::Round>& last,
                             std::vector<protocol::IncludedDelta> included,
                             const std::vector<registry::Node>& workers, const Paces& paces = {});

// A round on its way.

/// Whether commitments to units of the round may be in the next epoch: where the job says so, but
/// for its last round.
[[nodiscard]] bool takes_late(const registry::JobTerms& terms, std::uint64_t round);
/// The durations of a unit of the round. Late commitments are taken for as long as it takes to
/// report on the units of one round and to run those of the next, and not once the job has ended.
[[nodiscard]] protocol::LifecycleParams lifecycle_of(const registry::Job& job, std::uint64_t round);

/// From assignment to commitment. With an overlap a unit is assigned while its worker computes the
/// one before.
[[nodiscard]] std::int64_t unit_ms_of(const registry::JobTerms& terms, std::uint64_t round);

/// Whether so much of the round is committed that its other units are to be hurried: the quorum of
/// the steps of those that may still commit, and half of all.
/// @param gone workers that signed off: nobody waits for what they have not committed.
[[nodiscard]] bool has_quorum(const registry::JobTerms& terms, const protocol::RoundRecord& record,
                              std::span<const registry::Unit> units,
                              const std::set<Address>& gone = {});

/// Whether the round may go on beside the verification of its units: the job holds drawn ones back,
/// half of the round's steps are accepted, and it is not the job's last.
[[nodiscard]] bool may_hold(const registry::JobTerms& terms, const protocol::RoundRecord& record,
                            std::span<const registry::Unit> units);

/// The unit states that keep a round in its state; empty where it waits for something else.
/// Aggregates count in kAggregated alone: before there is none.
[[nodiscard]] std::vector<protocol::UnitState> states_that_hold(registry::RoundState state);

/// Whether the coordinator has time for a validation loss: nobody waits for it while the job's last
/// round is in this state.
[[nodiscard]] bool may_evaluate(registry::RoundState last);

struct RoundFacts {
    registry::RoundState state = registry::RoundState::kRecorded;
    bool record_on_chain = false;
    bool held = false;  ///< by a unit in one of states_that_hold(), or for want of its loss
    bool epoch_on_chain = false;
    bool beacon_known = false;
};
enum class RoundStep : std::uint8_t {
    kWait,
    kPostRecord,
    kAssignUnits,
    kSeal,
    kPostEpoch,
    kSetBeaconBlock,
    kDrawSample,
    kAggregate,
    kClose,
};
[[nodiscard]] RoundStep next_step(const RoundFacts& facts);

/// The verifier of a drawn unit's current draw. Nodes that registered after the round was sealed
/// take no part: no one may make up an address that suits a beacon that is known already.
/// @param waiting how many units of the round's epoch a verifier is to re-execute already.
/// @param admits whether the operator lets the node verify. @pre round.beacon is known.
[[nodiscard]] std::optional<Address> choose_verifier(
    const registry::Round& round, const registry::Unit& unit,
    std::span<const registry::Node> verifiers, std::span<const registry::MissedDraws> missed,
    const std::map<Address, std::uint32_t>& waiting,
    const std::function<bool(const registry::Node&)>& admits);

// Disputes.

/// Whether a unit is disputed because of a game alone: no report depends on how that ends.
[[nodiscard]] bool is_only_challenged(const records::UnitSummary& unit);
/// Whether the referee refuted the report that disputes the unit, which only waits for its window.
[[nodiscard]] bool is_refuted(const records::UnitSummary& unit);

/// State of a disputed unit on chain.
enum class GameVerdict : std::uint8_t {
    kOpen,         ///< a game is played, or can still be opened, or a fault is about to be noted
    kUpheld,       ///< none proved a fault, be it on purpose, and none can still be opened
    kNeverOpened,  ///< none was opened, and none can be
};
/// @param from_block of the unit's window. @param known what was read of games about the unit;
/// absent: there never was one.
[[nodiscard]] GameVerdict verdict_of(const registry::GameWatch& games, std::uint64_t from_block,
                                     const std::optional<registry::DisputedUnit>& known);

struct DisputeFacts {
    records::UnitSummary unit;
    bool own = false;                  ///< the coordinator's own unit
    std::optional<GameVerdict> games;  ///< absent: the network plays none
};
enum class DisputeStep : std::uint8_t {
    kWait,           ///< for the chain, for a defence, or for the deadline
    kLookEarly,      ///< a report may be false: the referee runs the unit again, and decides no pay
    kUphold,         ///< its games ended for the worker, and no report disputes the unit
    kDefendAndRule,  ///< the coordinator defends its own units, then lets the recomputation decide
    kRule,           ///< the referee runs the unit again
};
/// Anybody can lose a game on purpose, so one that proved nothing speaks only for itself: what a
/// report says is the referee's to look at, as if no game had been opened.
[[nodiscard]] DisputeStep next_step(const DisputeFacts& facts, UnixMs now_ms);

/// An event for a unit and the reason that goes with it.
struct UnitChange {
    protocol::UnitEvent event;
    std::optional<protocol::Reason> reason;
};
/// The verifier whose report started the dispute; absent if a game on chain did.
[[nodiscard]] std::optional<Address> reporter_of(const registry::Unit& unit);
/// A dispute ends for the worker with `event`: a reporter's finding was false.
[[nodiscard]] UnitChange uphold(const registry::Unit& unit, const protocol::UnitEvent& event);
/// The referee found the worker wrong. Without a defence the deadline speaks.
/// @param games how those about it ended; absent: the network plays none. Where none was opened, or
/// all were lost, the reason says that no stake is taken.
/// @errors kMalformed for a reason code that the protocol does not know.
[[nodiscard]] Result<UnitChange> reject(const registry::Unit& unit,
                                        const std::optional<GameVerdict>& games);
/// Why a unit is slashed when its game ends against the worker: what was found here before, if
/// anything was.
[[nodiscard]] protocol::Reason slash_reason(const registry::Unit& unit);

// Nodes.

/// Why a worker has nothing to run, in one sentence; empty if it has. @param flops_per_second of
/// its benchmark; 0: not known.
[[nodiscard]] std::string worker_idle_because(std::span<const registry::Unit> open_units,
                                              std::span<const registry::Job> running_jobs,
                                              std::uint64_t flops_per_second = 0);
[[nodiscard]] std::string verifier_idle_because(const Address& verifier,
                                                std::span<const registry::Unit> open_units);

}  // namespace gym::coordinator
