#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"

namespace gym::protocol {

/// Where a unit stands. Credits: pending from kCommitted, available in kFinal, void in kRejected,
/// kSlashed and kVoid, none in kExpired; kUnpaid releases the pending credit without a fault of the
/// worker.
enum class UnitState : std::uint8_t {
    kAssigned,
    kCommitted,
    kExpired,    ///< terminal: no commitment by the deadline
    kSampled,    ///< waits for a verifier's report commitment
    kUnsampled,  ///< waits for the end of the challenge window
    kReported,   ///< a verifier committed to a report, the reveal is due
    kRevealed,   ///< the report is open, the comparison is due
    kVerified,   ///< re-execution gave the same bits; waits for the end of the challenge window
    kDisputed,   ///< re-execution gave other bits, or a game was opened about it; the worker may
                 ///< defend until the deadline
    kUpheld,     ///< the dispute ended for the worker; waits for the end of the challenge window
    kRejected,   ///< terminal: no defence by the deadline, or the referee found the fault
    kSlashed,    ///< terminal: the on-chain game proved the fault
    kFinal,      ///< terminal: payable
    kUnpaid,     ///< terminal: sampled, and no verifier ever reported
    kVoid,       ///< terminal: inputs lost, or the worker excluded for another unit
};
inline constexpr std::size_t kUnitStateCount = 15;

/// The stable lower-case name ("assigned").
[[nodiscard]] std::string_view to_string(UnitState state) noexcept;
/// @errors kMalformed for another name.
[[nodiscard]] Result<UnitState> parse_unit_state(std::string_view name);
/// No event leads out of a terminal state.
[[nodiscard]] bool is_terminal(UnitState state) noexcept;
/// Whether a round may aggregate the unit's delta in this state: unsampled, verified, upheld or
/// final.
[[nodiscard]] bool is_accepted(UnitState state) noexcept;
/// Whether any event leads from one state to the other (the registry's table repeats this
/// relation).
[[nodiscard]] bool is_legal(UnitState from, UnitState to) noexcept;

/// Durations of one job, fixed in its configuration.
struct LifecycleParams {
    std::int64_t unit_ms = 600'000;       ///< assignment to commitment
    std::int64_t report_ms = 600'000;     ///< draw to report commitment
    std::int64_t reveal_ms = 60'000;      ///< report commitment to reveal
    std::int64_t defence_ms = 600'000;    ///< dispute to defence
    std::int64_t challenge_ms = 600'000;  ///< length of the challenge window
    std::uint32_t draws_max = 3;          ///< first draw and redraws together
    std::int64_t grace_ms = 60'000;       ///< hurried to commitment
    /// From the deadline of an assigned unit on, a commitment is still taken for so long, as a late
    /// one. 0: none is.
    std::int64_t late_ms = 0;

    friend bool operator==(const LifecycleParams&, const LifecycleParams&) = default;
};

/// The state of one unit. `deadline_ms` is what the current state waits for (0: nothing).
struct UnitStatus {
    UnitState state = UnitState::kAssigned;
    UnixMs deadline_ms = 0;
    std::uint32_t draws = 0;  ///< draws made; the current draw is draws - 1
    bool defended = false;    ///< disputed, and the worker answered in time: only a ruling ends it
    /// Its deadline passed while it was assigned, and its job takes late commitments: what is
    /// committed is of the next round's epoch. Never unset.
    bool late = false;

    friend bool operator==(const UnitStatus&, const UnitStatus&) = default;
};

namespace event {
struct Committed {};  ///< a valid commitment arrived
struct Hurried {};    ///< enough of the round is committed: grace_ms from now, or earlier
struct Overtaken {};  ///< the next round is sealed: a late commitment has no epoch any more
struct Drawn {
    bool sampled = false;
};                     ///< the beacon decided
struct SingledOut {};  ///< not drawn, and its delta was left out for its norm: verified after all
struct Redrawn {};     ///< the current verifier is replaced before its deadline
struct Reported {};    ///< the assigned verifier committed to a report
struct Revealed {};    ///< ... and opened it
struct Compared {
    bool equal = false;
};                     ///< the report was compared with the commitment
struct Challenged {};  ///< a game about it was opened on chain
struct Defended {};    ///< the worker answered the dispute
struct Ruled {
    bool worker_right = false;
};  ///< the referee re-executed; against the worker only if it defended
struct GameEnded {
    bool worker_won = false;
};                      ///< its games on chain ended; against the worker in any state
struct FaultProven {};  ///< a fault that needs no re-execution (two signed commitments)
struct Voided {};       ///< inputs lost, or the worker excluded for another unit
struct TimePassed {};   ///< nothing but time: whatever the deadline triggers
}  // namespace event

using UnitEvent =
    std::variant<event::Committed, event::Hurried, event::Overtaken, event::Drawn,
                 event::SingledOut, event::Redrawn, event::Reported, event::Revealed,
                 event::Compared, event::Challenged, event::Defended, event::Ruled,
                 event::GameEnded, event::FaultProven, event::Voided, event::TimePassed>;

/// A unit as it is assigned.
[[nodiscard]] UnitStatus assigned(const LifecycleParams& params, UnixMs now_ms);

/// The one state machine of a unit: pure, no clock. An event that comes after the state's deadline
/// is refused as late even before TimePassed is delivered; the outcome of a game on chain is never
/// late. TimePassed before the deadline changes nothing.
/// Hurried never moves a deadline back. At the deadline: assigned becomes late where the job takes
/// late commitments (late_ms), and expires otherwise or when that time is over, too; a commitment
/// that comes in between is a late one even before TimePassed is delivered; sampled and reported
/// draw again, or end unpaid after draws_max draws; disputed without a defence is rejected;
/// unsampled, verified and upheld become final.
/// @errors kConflict for an event that the state does not allow, kTimeout for one that comes too
/// late.
[[nodiscard]] Result<UnitStatus> apply(const UnitStatus& status, const UnitEvent& event,
                                       const LifecycleParams& params, UnixMs now_ms);

/// The stable lower-case name of an event ("committed"), for logs and errors.
[[nodiscard]] std::string_view name_of(const UnitEvent& event) noexcept;

}  // namespace gym::protocol
