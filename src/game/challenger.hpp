#pragma once

#include <cstdint>
#include <string>

#include "gym/game/line.hpp"
#include "gym/game/unit_work.hpp"
#include "posted_tree.hpp"

namespace gym::game {

/// Plans the challenger's move: at every level down to the first difference, then the proof.
class Challenge {
  public:
    Challenge(UnitWork& own, const Line& line) : own_(own), line_(line), at_(line.at()) {}
    Result<Move> plan();

  private:
    // challenger.cpp: down to a step's outputs, and faults between them, its record and the states.
    Result<Move> steps();
    Result<Move> delta();
    Result<Move> trace();
    Result<Move> record(const PostedTree& leaves, const dispute::StepTrace& step);
    Result<Move> field(const PostedTree& leaves, std::uint8_t field, std::uint32_t leaf);
    Result<Pick> source_of(const dispute::StepTrace& step, const dispute::Source& source);
    Result<Move> state();
    Result<Move> gradients();
    // challenger_element.cpp: below a macro op, the windows and the delta.
    Result<Move> primitives();
    Result<const dispute::TracedTensor*> disputed();
    Result<Move> chunks();
    Result<Move> element();
    Result<Move> prove_element(std::uint64_t element);
    Result<Move> prove_token(std::uint64_t element);
    Result<Move> prove_delta(std::uint64_t word);

    [[nodiscard]] Bytes header() const { return encode(own_.trace().header); }

    UnitWork& own_;
    const Line& line_;
    const Cursor& at_;
};

[[nodiscard]] Error no_fault(const std::string& where);
/// The move that was planned is refused.
[[nodiscard]] Error no_move_wins(const Move& move, const Error& refusal);

}  // namespace gym::game
