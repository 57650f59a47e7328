#pragma once

#include <cstdint>
#include <string_view>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"

/// A dispute as the contract keeps it: the structs of contracts/src/dispute/IDisputeGame.sol and
/// the cursor of DisputeTypes.sol, field for field.
namespace gym::game {

/// Values are hashed and stored: never renumber.
enum class Stage : std::uint8_t {
    kNone = 0,  ///< the game has been at no cursor
    kUnit = 1,
    kSteps = 2,
    kStep = 3,
    kTrace = 4,
    kState = 5,
    kGradients = 6,
    kMacro = 7,
    kPrimitives = 8,
    kTensor = 9,
    kChunks = 10,
    kOuter = 11,       ///< of an aggregate: what was declared of it
    kOuterState = 12,  ///< a tree of tensors that the outer step made
    kColumn = 13,      ///< an element of all included deltas
    kIncluded = 14,    ///< an included delta
    kRow = 15,         ///< a row of an update
    kPart = 16,        ///< a part of a long column
};
/// "unit", "steps", ...
[[nodiscard]] std::string_view to_string(Stage stage) noexcept;

/// Cursor::height at stage `included`, if the delta is of the round before the aggregate's.
inline constexpr std::uint8_t kHeldHeight = 1;
/// The same, once its commitment was shown to be late.
inline constexpr std::uint8_t kLateHeight = 2;
/// The same, if the delta is withdrawn; one more if it was held when it went in.
inline constexpr std::uint8_t kWithdrawnHeight = 3;

/// Where a game is: a node of one tree, or an answer that is due.
struct Cursor {
    Stage stage = Stage::kUnit;
    bool answered = false;     ///< false: the asserter must answer; true: the challenger moves
    std::uint8_t height = 0;   ///< levels from the leaves up to the node; row: its place in a
                               ///< chunk; included: 0 or one of the heights above; part: its number
    std::uint64_t index = 0;   ///< of the node among those of its height
    std::uint64_t leaves = 0;  ///< of the whole tree; row: tensors of the outer state
    Digest node;               ///< what is disputed; included: the root over the deltas, then the
                               ///< leaf of the commitment to number `index`; part: what it adds
    Digest twin;               ///< steps: the states tree's node in the same place; step: the state
                  ///< after the step; column, part: hash of what is posted; row: the root of
                  ///< the outer state, then the hash of its residuals; included:
                  ///< the slot, of a withdrawn delta 2^16 times the age more; else
                  ///< zero
    Digest frame;  ///< hash of what else is fixed
    friend bool operator==(const Cursor&, const Cursor&) = default;
};
/// The position of a game that is at `cursor`.
[[nodiscard]] Digest hash_of(const Cursor& cursor);

/// The side that must act, or how a game ended. Values are the contract's.
enum class GameStatus : std::uint8_t {
    kNone = 0,
    kAsserterMoves = 1,
    kChallengerMoves = 2,
    kUpheld = 3,        ///< the challenger's clock ran out
    kFaultProven = 4,   ///< the challenger showed a wrong number
    kFaultByClock = 5,  ///< the asserter's clock ran out
    kMoot = 6,          ///< another game decided the unit
};
/// "none", "asserter_moves", "challenger_moves", "upheld", "fault_proven", "fault_by_clock",
/// "moot".
[[nodiscard]] std::string_view to_string(GameStatus status) noexcept;
[[nodiscard]] constexpr bool is_open(GameStatus status) noexcept {
    return status == GameStatus::kAsserterMoves || status == GameStatus::kChallengerMoves;
}

/// IDisputeGame.Game; all zero if there is none.
struct GameState {
    Digest unit;
    Digest position;  ///< hash_of() the cursor
    Address challenger;
    std::uint64_t since_s = 0;             ///< Unix time at which the side on turn got it
    std::uint64_t challenger_clock_s = 0;  ///< left at since_s
    std::uint64_t asserter_clock_s = 0;    ///< left at since_s
    GameStatus status = GameStatus::kNone;
    std::uint64_t order = 0;  ///< of its announcement
    Stage stage = Stage::kNone;
    std::uint8_t height = 0;
    std::uint32_t moves = 0;
    Amount escrow_wei;  ///< left for the asserter's gas
    std::uint64_t asserter_gas = 0;
    std::uint64_t challenger_gas = 0;
    friend bool operator==(const GameState&, const GameState&) = default;
};

/// IDisputeGame.Unit; all zero if no game about it was opened.
struct UnitState {
    Address asserter;
    std::uint64_t proven_at_s = 0;  ///< 0: no fault is proven
    std::uint64_t games = 0;        ///< open ones
    bool locked = false;            ///< the asserter's stake
    bool settled = false;
    bool by_clock = false;  ///< the asserter only missed clocks: no game has shown what is wrong
    Address finder;
    std::uint64_t order = 0;       ///< of the finder's announcement
    std::uint64_t last_order = 0;  ///< of the last announcement before the first proof
    friend bool operator==(const UnitState&, const UnitState&) = default;
};

/// IDisputeGame.Terms, fixed for good when the contract is deployed.
struct DisputeTerms {
    Amount bond{10'000'000'000'000'000'000U};              ///< of a challenger: 10 tokens
    std::uint64_t clock_s = std::uint64_t{2} * 86'400;     ///< of each side, for a whole game
    std::uint64_t settling_s = std::uint64_t{4} * 86'400;  ///< after the first proof, for earlier
                                                           ///< announcements
    std::uint64_t announce_blocks = 2;                     ///< least from announce() to open()
    std::uint64_t open_blocks = 300;       ///< after these, in which open() must come
    std::uint64_t escrow_gas = 4'000'000;  ///< of the asserter's moves, paid in advance
    /// Share of its stake that an asserter loses by the first clocks that run out.
    std::uint32_t missed_clock_ppm = 500'000;
    friend bool operator==(const DisputeTerms&, const DisputeTerms&) = default;
};

}  // namespace gym::game
