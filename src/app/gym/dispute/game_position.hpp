#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "dispute/dispute_log.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/dispute/trace_program.hpp"
#include "gym/game/moves.hpp"
#include "gym/game/state.hpp"
#include "gym/game/transcript.hpp"
#include "gym/game/withheld.hpp"

/// A game in words: where it is and what was found.
namespace gym::app {

/// The part of the unit to which the moves of a game have narrowed the disagreement. Moves that
/// cannot be read do not change it.
struct GamePosition {
    std::optional<game::WithheldData> asked;  ///< of a game about withheld data
    std::optional<std::uint32_t> step;
    bool delta = false;                 ///< the unit's delta instead of a step
    bool compressed = false;            ///< it is of another codec than 0: elements are bytes
    std::optional<std::uint32_t> leaf;  ///< trace leaf
    std::optional<std::uint32_t> first_primitive;
    std::uint32_t primitives = 0;            ///< of the macro op; 0: token windows
    std::optional<std::uint32_t> primitive;  ///< counted within the macro op
    std::optional<program::Opcode> opcode;
    std::optional<dispute::Shape> shape;  ///< of the tensor that is disputed
    // Of an aggregate.
    bool aggregate = false;
    game::OuterTree tree = game::OuterTree::kNone;
    std::optional<dispute::TraceHeader> program;     ///< of the units, once it was shown
    std::optional<std::uint32_t> tensor;             ///< its number in the tree
    std::optional<std::uint64_t> row;                ///< of the update, within a parameter
    std::optional<std::uint64_t> element;            ///< of the tensor
    std::size_t deltas = 0;                          ///< that it has declared
    std::uint32_t held = 0;                          ///< of them, of the round before
    std::uint32_t withdrawn = 0;                     ///< of them, subtracted ones
    std::optional<game::OuterDelta> included_delta;  ///< to which it may have no right

    void follow(const game::Move& move);
};

/// After what happened in a game so far. @param course of one game, or its beginning.
[[nodiscard]] GamePosition position_after(std::span<const player::LoggedEvent> course);

/// How a game stands: "the asserter must answer", "over: the fault is proven".
[[nodiscard]] std::string status_text(game::GameStatus status);
/// "2", "aggregate", "-" if it is not known.
[[nodiscard]] std::string slot_text(const std::optional<protocol::UnitKey>& key);
/// "pickStep", ...; the selector in hexadecimal if no move has it.
[[nodiscard]] std::string move_name(ByteView call_data);
/// Where a cursor is: "step 12, trace leaves 256 to 511 of 900".
[[nodiscard]] std::string place_text(const game::Cursor& cursor, const GamePosition& where);
/// Where a proof found the fault: "step 12, leaf 300, primitive 3 (block_dot), element 77".
[[nodiscard]] std::string fault_text(const contracts::FaultFound& fault, const GamePosition& where);
/// A number that was claimed or computed: "0.25 (f32 0x3e800000)", "-3 (i32 0xfffffffd)", a digest.
[[nodiscard]] std::string value_text(const Digest& word, const contracts::FaultFound& fault,
                                     const GamePosition& where);

}  // namespace gym::app
