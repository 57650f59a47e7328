#include "gym/protocol/lifecycle.hpp"

#include <algorithm>
#include <string>

namespace gym::protocol {
namespace {

using S = UnitState;

constexpr std::array<std::string_view, kUnitStateCount> kNames = {
    "assigned", "committed", "expired",  "sampled", "unsampled", "reported", "revealed", "verified",
    "disputed", "upheld",    "rejected", "slashed", "final",     "unpaid",   "void"};

constexpr std::uint32_t bit(S state) {
    return 1U << static_cast<unsigned>(state);
}

/// The states that one event may lead to, for every state. A fault that the coordinator or a game
/// proves and a void reach every state that is not terminal, except that nothing can be wrong with
/// what was not committed.
constexpr std::array<std::uint32_t, kUnitStateCount> kNext = [] {
    constexpr std::uint32_t kEnds = bit(S::kRejected) | bit(S::kSlashed) | bit(S::kVoid);
    std::array<std::uint32_t, kUnitStateCount> next{};
    const auto set = [&](S from, std::uint32_t to) { next[static_cast<std::size_t>(from)] = to; };
    set(S::kAssigned, bit(S::kCommitted) | bit(S::kExpired) | bit(S::kVoid));
    set(S::kCommitted, bit(S::kSampled) | bit(S::kUnsampled) | kEnds);
    set(S::kSampled, bit(S::kReported) | bit(S::kSampled) | bit(S::kUnpaid) | kEnds);
    set(S::kReported, bit(S::kRevealed) | bit(S::kSampled) | bit(S::kUnpaid) | kEnds);
    set(S::kRevealed, bit(S::kVerified) | bit(S::kDisputed) | kEnds);
    set(S::kUnsampled, bit(S::kSampled) | bit(S::kFinal) | bit(S::kDisputed) | kEnds);
    set(S::kVerified, bit(S::kFinal) | bit(S::kDisputed) | kEnds);
    set(S::kDisputed, bit(S::kUpheld) | kEnds);
    set(S::kUpheld, bit(S::kFinal) | kEnds);
    return next;
}();

Error illegal(const UnitStatus& status, const UnitEvent& event) {
    return fail(ErrorCode::kConflict, "a unit that is " + std::string(to_string(status.state)) +
                                          " does not take the event '" +
                                          std::string(name_of(event)) + "'");
}

Error late(const UnitStatus& status, const UnitEvent& event, UnixMs now_ms) {
    return fail(ErrorCode::kTimeout, "'" + std::string(name_of(event)) + "' came " +
                                         std::to_string(now_ms - status.deadline_ms) +
                                         " ms after the deadline of a unit that is " +
                                         std::string(to_string(status.state)));
}

/// Handles one event against one status; an overload per event type, one rule each.
class Transition {
  public:
    Transition(const UnitStatus& status, const UnitEvent& event, const LifecycleParams& params,
               UnixMs now_ms)
        : status_(status), event_(event), params_(params), now_ms_(now_ms) {}

    Result<UnitStatus> operator()(event::Committed committed) const {
        UnitStatus now = status_;
        if (status_.state == S::kAssigned && is_over()) now = overdue();
        if (now.late && !status_.late) return Transition(now, event_, params_, now_ms_)(committed);
        GYM_CHECK(in_time(S::kAssigned));
        return to(S::kCommitted, 0);
    }
    Result<UnitStatus> operator()(event::Overtaken) const {
        if (status_.state != S::kAssigned || !status_.late) return illegal(status_, event_);
        return to(S::kExpired, 0);
    }
    Result<UnitStatus> operator()(event::Hurried) const {
        if (status_.state != S::kAssigned || status_.late) return illegal(status_, event_);
        UnitStatus next = status_;
        next.deadline_ms = std::min(status_.deadline_ms, now_ms_ + params_.grace_ms);
        return next;
    }
    Result<UnitStatus> operator()(event::Drawn drawn) const {
        if (status_.state != S::kCommitted) return illegal(status_, event_);
        return drawn.sampled ? draw() : to(S::kUnsampled, params_.challenge_ms);
    }
    Result<UnitStatus> operator()(event::SingledOut) const {
        GYM_CHECK(in_time(S::kUnsampled));
        return draw();
    }
    Result<UnitStatus> operator()(event::Redrawn) const {
        if (status_.state != S::kSampled && status_.state != S::kReported)
            return illegal(status_, event_);
        return draw();
    }
    Result<UnitStatus> operator()(event::Reported) const {
        GYM_CHECK(in_time(S::kSampled));
        return to(S::kReported, params_.reveal_ms);
    }
    Result<UnitStatus> operator()(event::Revealed) const {
        GYM_CHECK(in_time(S::kReported));
        return to(S::kRevealed, 0);
    }
    Result<UnitStatus> operator()(event::Compared compared) const {
        if (status_.state != S::kRevealed) return illegal(status_, event_);
        return compared.equal ? to(S::kVerified, params_.challenge_ms)
                              : to(S::kDisputed, params_.defence_ms);
    }
    Result<UnitStatus> operator()(event::Challenged) const {
        if (status_.state != S::kUnsampled && status_.state != S::kVerified)
            return illegal(status_, event_);
        // However late by the coordinator's clock: the chain's own window decides that.
        return to(S::kDisputed, params_.defence_ms);
    }
    Result<UnitStatus> operator()(event::Defended) const {
        if (status_.state == S::kDisputed && status_.defended) return illegal(status_, event_);
        GYM_CHECK(in_time(S::kDisputed));
        UnitStatus next = status_;
        next.defended = true;
        next.deadline_ms = 0;  // the referee has no deadline: an answer in time cannot be lost
        return next;
    }
    Result<UnitStatus> operator()(event::Ruled ruled) const {
        if (status_.state != S::kDisputed) return illegal(status_, event_);
        // Without a defence only the deadline rejects: the worker may still answer.
        if (!ruled.worker_right && !status_.defended) return illegal(status_, event_);
        return ruled.worker_right ? to(S::kUpheld, params_.challenge_ms) : to(S::kRejected, 0);
    }
    Result<UnitStatus> operator()(event::GameEnded game) const {
        // A fault on chain counts whether the coordinator knew of a dispute or not.
        const S end = game.worker_won ? S::kUpheld : S::kSlashed;
        if (!is_legal(status_.state, end)) return illegal(status_, event_);
        return to(end, game.worker_won ? params_.challenge_ms : 0);
    }
    Result<UnitStatus> operator()(event::FaultProven) const {
        if (!is_legal(status_.state, S::kRejected)) return illegal(status_, event_);
        return to(S::kRejected, 0);
    }
    Result<UnitStatus> operator()(event::Voided) const {
        if (is_terminal(status_.state)) return illegal(status_, event_);
        return to(S::kVoid, 0);
    }
    Result<UnitStatus> operator()(event::TimePassed) const {
        if (!is_over()) return status_;
        switch (status_.state) {
            case S::kAssigned:
                return overdue();
            case S::kSampled:
            case S::kReported:
                return draw();
            case S::kDisputed:
                return to(S::kRejected, 0);
            case S::kUnsampled:
            case S::kVerified:
            case S::kUpheld:
                return to(S::kFinal, 0);
            default:
                return status_;
        }
    }

  private:
    [[nodiscard]] Status in_time(S required) const {
        if (status_.state != required) return illegal(status_, event_);
        if (now_ms_ > status_.deadline_ms) return late(status_, event_, now_ms_);
        return {};
    }
    [[nodiscard]] bool is_over() const {
        return status_.deadline_ms != 0 && now_ms_ > status_.deadline_ms;
    }
    /// An assigned unit whose deadline is over: late from that moment on, or expired.
    [[nodiscard]] UnitStatus overdue() const {
        const UnixMs end = status_.deadline_ms + params_.late_ms;
        if (status_.late || params_.late_ms == 0 || now_ms_ > end) return to(S::kExpired, 0);
        UnitStatus next = status_;
        next.late = true;
        next.deadline_ms = end;
        return next;
    }
    /// `wait_ms` 0: the new state waits for nothing.
    [[nodiscard]] UnitStatus to(S state, std::int64_t wait_ms) const {
        GYM_ASSERT(is_legal(status_.state, state), "the transition is not in the table");
        UnitStatus next = status_;
        next.state = state;
        next.deadline_ms = wait_ms == 0 ? 0 : now_ms_ + wait_ms;
        next.defended = status_.defended && state == S::kDisputed;
        return next;
    }
    [[nodiscard]] UnitStatus draw() const {
        const bool again = status_.state == S::kSampled || status_.state == S::kReported;
        if (again && status_.draws >= params_.draws_max) return to(S::kUnpaid, 0);
        UnitStatus next = to(S::kSampled, params_.report_ms);
        ++next.draws;
        return next;
    }

    const UnitStatus& status_;
    const UnitEvent& event_;
    const LifecycleParams& params_;
    UnixMs now_ms_;
};

}  // namespace

std::string_view to_string(UnitState state) noexcept {
    return kNames[static_cast<std::size_t>(state)];
}

Result<UnitState> parse_unit_state(std::string_view name) {
    for (std::size_t i = 0; i < kUnitStateCount; ++i)
        if (kNames[i] == name) return static_cast<UnitState>(i);
    return fail(ErrorCode::kMalformed, "no unit state is called '" + std::string(name) + "'");
}

bool is_terminal(UnitState state) noexcept {
    return kNext[static_cast<std::size_t>(state)] == 0;
}

bool is_accepted(UnitState state) noexcept {
    return state == S::kUnsampled || state == S::kVerified || state == S::kUpheld ||
           state == S::kFinal;
}

bool is_legal(UnitState from, UnitState to) noexcept {
    return (kNext[static_cast<std::size_t>(from)] & bit(to)) != 0;
}

UnitStatus assigned(const LifecycleParams& params, UnixMs now_ms) {
    UnitStatus out;
    out.deadline_ms = now_ms + params.unit_ms;
    return out;
}

Result<UnitStatus> apply(const UnitStatus& status, const UnitEvent& event,
                         const LifecycleParams& params, UnixMs now_ms) {
    return std::visit(Transition(status, event, params, now_ms), event);
}

std::string_view name_of(const UnitEvent& event) noexcept {
    constexpr std::array<std::string_view, std::variant_size_v<UnitEvent>> kEventNames = {
        "committed",  "hurried",      "overtaken", "drawn",      "singled out", "redrawn",
        "reported",   "revealed",     "compared",  "challenged", "defended",    "ruled",
        "game ended", "fault proven", "voided",    "time passed"};
    return kEventNames[event.index()];
}

}  // namespace gym::protocol
