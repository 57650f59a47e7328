#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/records/task.hpp"
#include "gym/registry/jobs.hpp"

namespace gym::registry {

enum class RoundState : std::uint8_t {
    kRecorded,    ///< the record is made; waits until its hash is on chain
    kOpen,        ///< units are assigned; commitments are accepted
    kSealed,      ///< no more commitments; waits until the epoch's root is on chain
    kPosted,      ///< waits for the beacon block
    kVerifying,   ///< drawn units are being re-executed
    kAggregated,  ///< the next base state exists; units may still wait for the challenge window
    kClosed,      ///< every unit is decided for good
};
[[nodiscard]] std::string_view to_string(RoundState state) noexcept;
[[nodiscard]] Result<RoundState> parse_round_state(std::string_view name);

struct Round {
    Digest job_id;
    std::uint64_t round = 0;
    RoundState state = RoundState::kRecorded;
    protocol::RoundRecord record;
    Digest record_hash;
    StateRef base;
    StateRef momentum;
    std::uint64_t epoch = 0;  ///< global, from 1, one per round
    UnixMs recorded_at_ms = 0;
    std::optional<UnixMs> opened_at_ms;
    std::optional<UnixMs> unit_deadline_ms;
    std::optional<UnixMs> sealed_at_ms;
    std::optional<Digest> commitments_root;  ///< from kSealed on
    std::optional<std::uint32_t> commitment_count;
    std::optional<std::uint64_t> posted_block;  ///< block of the epoch's root
    /// From kPosted on one of these draws: prevrandao of this block, or a round of a drand chain.
    std::optional<std::uint64_t> beacon_block;
    std::optional<std::uint64_t> drand_round;
    std::optional<Digest> beacon;
    /// From kAggregated on. Of jobs with an overlap made while the round computes, or waits.
    std::optional<StateRef> next_base;
    std::optional<StateRef> next_momentum;
    std::optional<Digest> next_update_blob;  ///< of a program with an update
    std::optional<Digest> aggregate_program_root;
    std::optional<Digest> aggregate_program_blob;
    /// Nats per token of the next base state; some time after that is there.
    std::optional<double> validation_loss;
    std::optional<UnixMs> aggregated_at_ms;
    std::optional<UnixMs> closed_at_ms;
};

/// Takes the lock that orders records: whoever holds it knows all recorded rounds until it commits.
Status lock_epochs(db::Transaction& tx);
/// Inserts a round in state kRecorded with the next epoch number. Recording the same record again
/// returns the stored round. @errors kConflict for another record of the same round, or a gap in
/// the numbers.
Result<Round> record_round(db::Transaction& tx, const protocol::RoundRecord& record,
                           const StateRef& base, const StateRef& momentum, UnixMs now_ms);
/// @errors kNotFound.
Result<Round> get_round(db::Transaction& tx, const Digest& job_id, std::uint64_t round);
Result<Round> get_round_of_epoch(db::Transaction& tx, std::uint64_t epoch);
/// The state of a round; absent: there is none.
Result<std::optional<RoundState>> find_round_state(db::Transaction& tx, const Digest& job_id,
                                                   std::uint64_t round);
/// The round whose record has this hash, if any.
Result<std::optional<Round>> find_round_by_record(db::Transaction& tx, const Digest& record_hash);
/// Jobs with a round that made the state out of another one, by id. @errors kOutOfRange: more
/// than 64.
Result<std::vector<Digest>> jobs_of_state(db::Transaction& tx, const Digest& state_root);
/// Ascending by number.
Result<std::vector<Round>> list_rounds(db::Transaction& tx, const Digest& job_id);
/// Of all jobs.
Result<std::vector<Round>> rounds_in_state(db::Transaction& tx, RoundState state);
/// Rounds that are not closed, ascending.
Result<std::vector<Round>> open_rounds(db::Transaction& tx, const Digest& job_id);
/// How a round's base state is made out of those of the rounds before it, of
/// records::kBaseStepsMax at most (records::UnitInputs::base_steps). Empty where the round before
/// has no update.
Result<std::vector<records::BaseStep>> steps_to_base(db::Transaction& tx, const Digest& job_id,
                                                     std::uint64_t round);
/// The highest round, if any.
Result<std::optional<Round>> last_round(db::Transaction& tx, const Digest& job_id);

/// A beacon that drew, of whatever job, and when the commitments that it drew from were closed:
/// until then nobody knew it.
struct DrawnBeacon {
    Digest beacon;
    UnixMs sealed_at_ms = 0;
};
/// Of the newest epoch that was drawn, if any was.
Result<std::optional<DrawnBeacon>> newest_beacon(db::Transaction& tx);

// One step each, in this order. @errors kConflict when the round is not in the state before.
Status open_round(db::Transaction& tx, const Digest& job_id, std::uint64_t round,
                  UnixMs unit_deadline_ms, UnixMs now_ms);
Status seal_round(db::Transaction& tx, const Digest& job_id, std::uint64_t round,
                  const Digest& commitments_root, std::uint32_t count, UnixMs now_ms);
/// The randomness that draws: one of both.
struct DrawnBy {
    std::optional<std::uint64_t> block;  ///< its prevrandao
    std::optional<std::uint64_t> drand_round;
};
Status mark_posted(db::Transaction& tx, const Digest& job_id, std::uint64_t round,
                   std::uint64_t posted_block, const DrawnBy& by);
Status set_beacon(db::Transaction& tx, const Digest& job_id, std::uint64_t round,
                  const Digest& beacon);

struct AggregateOutcome {
    StateRef next_base;
    StateRef next_momentum;
    std::optional<Digest> aggregate_program_root;  ///< absent when no delta was accepted
    std::optional<Digest> aggregate_program_blob;
    std::optional<double> validation_loss;   ///< absent: set_validation_loss() follows
    std::optional<Digest> next_update_blob;  ///< absent then, too, and of a program without one
};
Status set_aggregated(db::Transaction& tx, const Digest& job_id, std::uint64_t round,
                      const AggregateOutcome& outcome, UnixMs now_ms);
/// The same of a round that computes or is verified, and stays in its state: of a job with an
/// overlap, whose next base state is made of the deltas of the round before.
/// @errors kConflict for a round that is not open yet, or has a next base state.
Status set_next_base(db::Transaction& tx, const Digest& job_id, std::uint64_t round,
                     const AggregateOutcome& outcome, UnixMs now_ms);
/// Of such a job: the round's deltas went where they go. @errors kConflict without a next base
/// state, or in another state than kVerifying.
Status mark_aggregated(db::Transaction& tx, const Digest& job_id, std::uint64_t round);
/// The oldest aggregated round of the job without the loss of its next base state, if any.
Result<std::optional<Round>> round_to_evaluate(db::Transaction& tx, const Digest& job_id);
/// @errors kConflict for a round that has no next base state, or has a loss.
Status set_validation_loss(db::Transaction& tx, const Digest& job_id, std::uint64_t round,
                           double nats_per_token);
/// @errors kConflict while a unit of the round is not terminal, or its loss is not known.
Status close_round(db::Transaction& tx, const Digest& job_id, std::uint64_t round, UnixMs now_ms);

}  // namespace gym::registry
