#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/protocol/unit.hpp"
#include "gym/protocol/unit_record.hpp"

namespace gym::records {

/// A base state that a node may have, and the update that makes the next one of it.
struct BaseStep {
    Digest base_blob;
    Digest update_blob;

    friend bool operator==(const BaseStep&, const BaseStep&) = default;
};
inline constexpr std::uint32_t kBaseStepsMax = 8;

/// Where a unit's inputs are: blob roots. The round record says what they must decode to.
struct UnitInputs {
    Digest program_blob;
    /// Of an aggregate: to compute a delta again that its worker withholds.
    std::optional<Digest> dataset_blob;
    Digest base_state_blob;
    std::optional<Digest> momentum_blob;  ///< read by aggregates; absent where there is none
    /// How the base state is made of earlier ones, oldest first: the last update makes it, each
    /// other one the base of the step behind it. At most kBaseStepsMax. Only hints for who has one
    /// of them: nothing depends on them, and what is kept on disk is without.
    std::vector<BaseStep> base_steps;

    friend bool operator==(const UnitInputs&, const UnitInputs&) = default;
};

/// A unit that is assigned to a worker.
struct TrainTask {
    protocol::UnitKey unit;
    protocol::UnitRecord record;  ///< its hash is on chain, and the commitment names it
    UnitInputs inputs;
    UnixMs deadline_ms = 0;  ///< for the commitment
    /// For a late one, of the next round's epoch, unless that round is sealed before. 0: none is
    /// taken.
    UnixMs late_until_ms = 0;

    /// Another unit of the job is there before this one is committed: its worker sends the delta
    /// and commits while it computes that one.
    bool overlap = false;

    [[nodiscard]] Digest unit_id() const { return protocol::unit_id(unit); }
    friend bool operator==(const TrainTask&, const TrainTask&) = default;
};

/// A round before, from which an aggregate has deltas too.
struct EarlierRound {
    protocol::RoundRecord record;
    UnitInputs inputs;  ///< of its train units

    friend bool operator==(const EarlierRound&, const EarlierRound&) = default;
};

/// A unit that is drawn and assigned to a verifier. Of a train unit it runs the slot again. Of an
/// aggregate it recomputes the outer step over `deltas` from base and momentum, and reports the
/// next base root as final state root and the next momentum root as delta root. Of an evaluation it
/// computes the losses of the state that the aggregate made, in `inputs` as the base state, and
/// reports no delta.
struct VerifyTask {
    protocol::UnitKey unit;
    protocol::UnitRecord record;  ///< without a slot of an aggregate
    /// Of an aggregate, which needs all slots: the whole record of its round.
    std::optional<protocol::RoundRecord> round;
    UnitInputs inputs;
    protocol::SignedCommitment commitment;  ///< public: it is under the root on chain
    Address committer;
    Digest beacon;
    std::uint32_t draw = 0;
    bool report_committed = false;                ///< the reveal is due
    UnixMs deadline_ms = 0;                       ///< for the next half of the report
    std::vector<protocol::IncludedDelta> deltas;  ///< of an aggregate; a root names its blob
    std::optional<double> delta_norm_max;     ///< of an aggregate: the job's bound, if it has one
    std::optional<double> delta_norm_factor;  ///< of the job, if it has one (InclusionPolicy)
    bool late = false;        ///< of a train unit: its epoch and beacon are the next round's
    bool hold_drawn = false;  ///< of an aggregate: drawn units may go in one round later
    /// Of an aggregate: the rounds of its job overlap, so that it has deltas of the round before
    /// alone. Those are in `deltas` as held, and in time: nothing goes in later.
    bool overlap = false;
    std::optional<EarlierRound> earlier;  ///< of an aggregate with held deltas: where they are from
    /// Of an evaluation: the commitment to the aggregate that made the state; absent: the round had
    /// no deltas, and ended in the state that it began from.
    std::optional<protocol::SignedCommitment> aggregate = std::nullopt;

    [[nodiscard]] Digest unit_id() const { return protocol::unit_id(unit); }
    [[nodiscard]] protocol::UnitKind kind() const { return commitment.commitment.kind; }
    friend bool operator==(const VerifyTask&, const VerifyTask&) = default;
};

/// The first steps of a unit that ended without a commitment, for a verifier to run. What their
/// worker signed is not in it, so that it cannot be copied (protocol::UnitPrefix).
struct PrefixTask {
    protocol::UnitKey unit;
    protocol::UnitRecord record;
    UnitInputs inputs;
    std::uint32_t steps = 0;  ///< to run: 1 to those of the slot
    std::uint32_t draw = 0;
    UnixMs deadline_ms = 0;  ///< for the report

    [[nodiscard]] Digest unit_id() const { return protocol::unit_id(unit); }
    friend bool operator==(const PrefixTask&, const PrefixTask&) = default;
};

using Task = std::variant<TrainTask, VerifyTask, PrefixTask>;

}  // namespace gym::records
