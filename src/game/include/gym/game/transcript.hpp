#pragma once

#include <compare>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/game/moves.hpp"
#include "gym/game/rules.hpp"
#include "gym/program/delta_groups.hpp"

/// The transcript of one game, from its opening to its present cursor. Both players plan with it.
namespace gym::game {

/// An accepted move: of this game or, if it is an answer, of another game about the unit.
struct PlayedMove {
    Cursor at;
    Move move;
    Cursor next;
};

/// A delta that an aggregate declares as an input.
struct OuterDelta {
    std::uint32_t slot = 0;
    Digest root;            ///< of its bytes
    bool held = false;      ///< of the round before the aggregate's; or was, when it went in
    std::uint16_t age = 0;  ///< of a withdrawn one: protocol::IncludedDelta::age; else 0

    [[nodiscard]] bool is_withdrawn() const { return age != 0; }
    friend auto operator<=>(const OuterDelta&, const OuterDelta&) = default;
};

[[nodiscard]] inline OuterDelta outer_delta_of(const protocol::IncludedDelta& delta) {
    return {delta.slot, delta.delta_root, delta.held, delta.age};
}

/// Slots that an aggregate can declare: below this.
inline constexpr std::uint32_t kDeclaredSlotsMax = 8192;

/// The deltas of move::DeclareOuter, without their roots.
/// @errors kMalformed: no sets of slots below kDeclaredSlotsMax, their groups are not legal, or
/// withdrawn ones of one group do not ascend.
[[nodiscard]] Result<std::vector<OuterDelta>> read_declared(ByteView slots,
                                                            std::uint32_t packed_groups);
/// Their slots, as move::DeclareOuter has them: a bit each of the round's own, then of the held
/// ones (slot s is bit 7 - s % 8 of byte s / 8), two sets of one length; then of each withdrawn one
/// its age and its slot, u16 big-endian. Slots from kDeclaredSlotsMax on are left out, so that the
/// rules refuse the declaration.
[[nodiscard]] Bytes slots_of(std::span<const OuterDelta> deltas);
/// What they count. @pre in the order of a record's list.
[[nodiscard]] program::DeltaGroups groups_of(std::span<const OuterDelta> deltas);
/// Where one stands in the order of a record's list.
[[nodiscard]] inline auto place_of(const OuterDelta& delta) {
    return std::tuple(delta.is_withdrawn(), delta.held, delta.age, delta.slot);
}

/// The moves from the unit to the present cursor, in order.
class GameTranscript {
  public:
    /// @param start of start_of().
    GameTranscript(const UnitFacts& facts, const Cursor& start) : facts_(facts), at_(start) {}

    /// @param commitments as of decide().
    /// @errors of decide(); kConflict if `move` is a proof.
    Status play(const Move& move, const crypto::Eip712Domain* commitments = nullptr);

    [[nodiscard]] bool is_outer() const { return std::holds_alternative<OuterFacts>(facts_); }
    /// About withheld data.
    [[nodiscard]] bool is_request() const { return std::holds_alternative<DataRequest>(facts_); }
    /// @pre is_request().
    [[nodiscard]] const DataRequest& request() const;
    /// @pre a train unit.
    [[nodiscard]] const Facts& facts() const;
    /// @pre is_outer().
    [[nodiscard]] const OuterFacts& outer_facts() const;
    [[nodiscard]] const Cursor& at() const { return at_; }
    [[nodiscard]] const std::vector<PlayedMove>& moves() const { return moves_; }
    /// The root over the states, once declared.
    [[nodiscard]] const std::optional<Digest>& states_root() const { return states_root_; }
    /// The step with all that is fixed about it, once picked.
    [[nodiscard]] const std::optional<StepFrame>& step() const { return step_; }
    /// The macro op or windows with all that is fixed, once picked.
    [[nodiscard]] const std::optional<OpFrame>& op() const { return op_; }
    /// The bytes of the step's record, once opened; of an aggregate once declared.
    [[nodiscard]] const Bytes& record() const { return record_; }
    /// The chunk, once posted.
    [[nodiscard]] const Bytes& chunk() const { return chunk_; }
    /// Of an aggregate, once declared; with its tree, once picked.
    [[nodiscard]] const std::optional<OuterFrame>& outer() const { return outer_; }
    /// Slots of an aggregate's inputs, once declared, and which are held; the roots are zero but
    /// for what was posted of their tree.
    [[nodiscard]] const std::vector<OuterDelta>& included() const { return included_; }
    /// An element of all included deltas, once posted.
    [[nodiscard]] const Bytes& values() const { return values_; }
    /// The residuals of a row of an update, once posted.
    [[nodiscard]] const Bytes& residuals() const { return residuals_; }
    /// The bytes of an included delta's commitment, once shown.
    [[nodiscard]] const Bytes& commitment() const { return commitment_; }

  private:
    /// @param at where the move was made.
    void note(const Cursor& at, const Move& move);
    /// The leaves that an answer to a node of the included deltas' tree lists.
    void note_included(const Cursor& answered, const std::vector<Digest>& children);
    UnitFacts facts_;
    Cursor at_;
    std::vector<PlayedMove> moves_;
    std::optional<Digest> states_root_;
    std::optional<StepFrame> step_;
    std::optional<OpFrame> op_;
    std::optional<OuterFrame> outer_;
    std::vector<OuterDelta> included_;
    Bytes record_, chunk_, values_, residuals_, commitment_;
};

}  // namespace gym::game
