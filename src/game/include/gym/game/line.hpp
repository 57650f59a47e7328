#pragma once

#include <optional>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/game/moves.hpp"
#include "gym/game/rules.hpp"

/// One game from its opening to where it is: what both players plan with.
namespace gym::game {

/// A move that was accepted, in this game or, of an answer, in another one of the unit.
struct Played {
    Cursor at;
    Move move;
    Cursor next;
};

/// The moves that led from the unit to the present cursor, in order.
class Line {
  public:
    /// @param start of start_of().
    Line(const Facts& facts, const Cursor& start) : facts_(facts), at_(start) {}

    /// @errors of decide(); kConflict if `move` is a proof.
    Status play(const Move& move);

    [[nodiscard]] const Facts& facts() const { return facts_; }
    [[nodiscard]] const Cursor& at() const { return at_; }
    [[nodiscard]] const std::vector<Played>& moves() const { return moves_; }
    /// The root over the states, once declared.
    [[nodiscard]] const std::optional<Digest>& states_root() const { return states_root_; }
    /// The step with all that is fixed about it, once picked.
    [[nodiscard]] const std::optional<StepFrame>& step() const { return step_; }
    /// The macro op or windows with all that is fixed, once picked.
    [[nodiscard]] const std::optional<OpFrame>& op() const { return op_; }
    /// The bytes of the step's record, once opened.
    [[nodiscard]] const Bytes& record() const { return record_; }
    /// The chunk, once posted.
    [[nodiscard]] const Bytes& chunk() const { return chunk_; }

  private:
    void note(const Move& move);
    Facts facts_;
    Cursor at_;
    std::vector<Played> moves_;
    std::optional<Digest> states_root_;
    std::optional<StepFrame> step_;
    std::optional<OpFrame> op_;
    Bytes record_;
    Bytes chunk_;
};

}  // namespace gym::game
