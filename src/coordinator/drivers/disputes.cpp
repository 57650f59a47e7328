#include "drivers/disputes.hpp"

#include "drivers/draws.hpp"
#include "drivers/game_state.hpp"
#include "drivers/membership.hpp"
#include "drivers/reexecution.hpp"

namespace gym::coordinator {
namespace {

using protocol::UnitState;

/// Follows up on what a deadline did to a unit: a draw that was missed goes to the next verifier.
Status after_deadline(const Context& context, db::Transaction& tx, const registry::Unit& unit,
                      UnixMs now_ms) {
    if (unit.status.state != UnitState::kSampled) return {};
    GYM_TRY(const registry::Round round, registry::get_round(tx, unit.key.job_id, unit.key.round));
    return assign_verifiers(context, tx, round, now_ms);
}

/// Who reported the difference that a dispute is about; absent if a game alone is.
std::optional<Address> who_disputed(const registry::Unit& unit) {
    return is_only_challenged(unit) ? std::nullopt : unit.verifier;
}

/// A dispute ended for the worker, with `event`: who reported a difference that is none goes.
Result<registry::Unit> uphold(const Context& context, db::Transaction& tx, const registry::Job& job,
                              const registry::Unit& unit, const protocol::UnitEvent& event) {
    const UnixMs now_ms = context.now();
    const protocol::LifecycleParams& params = job.terms.lifecycle;
    const auto verifier = who_disputed(unit);
    std::optional<protocol::Reason> reason;
    if (verifier) reason = protocol::false_report(unit.key, *verifier);
    GYM_TRY(registry::Unit upheld, registry::advance(tx, unit.id, event, params, now_ms, reason));
    if (verifier) GYM_CHECK(exclude_verifier(context, tx, *verifier, upheld, params, now_ms));
    GYM_TRY(const auto worker, registry::find_node(tx, unit.worker));
    if (!worker || !worker->excluded) return upheld;
    return registry::advance(tx, unit.id, protocol::event::Voided{}, params, now_ms,
                             protocol::worker_excluded(unit.key));
}

/// Who decides a dispute.
enum class Word : std::uint8_t {
    kChain,          ///< or it has: the referee has nothing to say
    kReferee,        ///< there are no games, or one that proved nothing
    kRefereeTooLate  ///< no game was opened while it could be: whatever is found, no stake is taken
};

/// Lets the chain decide a dispute.
/// Anybody can lose a game on purpose, so one that proved nothing speaks only for itself: what a
/// report says is the referee's to look at, as if no game had been opened.
Result<Word> decide_by_games(const Context& context, const registry::Job& job,
                             const std::optional<registry::GameWatch>& games,
                             const registry::Unit& unit, TickSummary& summary) {
    if (!games) return Word::kReferee;
    GYM_TRY(const GameVerdict verdict, verdict_on(context, *games, unit));
    if (verdict == GameVerdict::kNeverOpened) return Word::kRefereeTooLate;
    if (verdict == GameVerdict::kOpen) return Word::kChain;
    if (!is_only_challenged(unit)) return Word::kReferee;
    const Status written = context.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_TRY(const registry::Unit current, registry::get_unit(tx, unit.id));
        if (!is_only_challenged(current)) return {};
        GYM_TRY(const registry::Unit ended,
                uphold(context, tx, job, current, protocol::event::GameEnded{true}));
        note(summary, protocol::name_unit(unit.key) + ": " +
                          std::string(protocol::to_string(ended.status.state)) + " by its game");
        return {};
    });
    if (!written.ok()) return written.error();
    return Word::kChain;
}

/// The referee cannot look any more: nobody is at fault.
Status void_dispute(const Context& context, const registry::Job& job, const registry::Unit& unit,
                    const Error& error, TickSummary& summary) {
    const Status voided = context.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::advance(tx, unit.id, protocol::event::Voided{}, job.terms.lifecycle,
                                    context.now(), protocol::inputs_lost(unit.key, "its inputs")));
        return {};
    });
    GYM_CHECK(voided);
    note(summary, protocol::name_unit(unit.key) + ": void, " + error.message);
    return {};
}

/// What the referee found.
struct Ruling {
    bool right = false;     ///< the worker
    bool too_late = false;  ///< no game can take its stake any more
};

/// Applies the referee's finding. Without a defence a finding against the worker is the deadline's.
Status write_ruling(const Context& context, db::Transaction& tx, const registry::Job& job,
                    const registry::Unit& unit, const Ruling& ruling, TickSummary& summary) {
    const auto said = [&](const registry::Unit& ruled) {
        note(summary, protocol::name_unit(unit.key) + ": " +
                          std::string(protocol::to_string(ruled.status.state)) + " by the referee");
    };
    if (ruling.right) {
        GYM_TRY(const registry::Unit upheld,
                uphold(context, tx, job, unit, protocol::event::Ruled{true}));
        said(upheld);
        return {};
    }
    const UnixMs now_ms = context.now();
    GYM_TRY(const protocol::ReasonCode code, protocol::parse_reason_code(unit.reason_code));
    const protocol::Reason dispute{code, unit.reason};
    protocol::Reason reason = protocol::no_defence(dispute);
    protocol::UnitEvent event = protocol::event::TimePassed{};
    if (unit.status.defended) {
        reason = protocol::referee_ruled(dispute);
        event = protocol::event::Ruled{false};
    }
    if (ruling.too_late) {
        reason = protocol::no_game(reason);
        note(summary, protocol::name_unit(unit.key) +
                          ": no game about its fault was opened while one could be, so it costs no "
                          "stake: if verifiers are behind, the window is too short for them (`gym "
                          "params check`): add verifiers, or deploy with a longer one");
    }
    GYM_TRY(const registry::Unit rejected,
            registry::advance(tx, unit.id, event, job.terms.lifecycle, now_ms, reason));
    said(rejected);
    return exclude_worker(context, tx, rejected, now_ms);
}

Status rule(const Context& context, const registry::Job& job, const Digest& id, bool too_late,
            TickSummary& summary) {
    GYM_TRY(const registry::Unit unit,
            context.transact([&](db::Transaction& tx) { return registry::get_unit(tx, id); }));
    GYM_TRY(const registry::Round round, context.transact([&](db::Transaction& tx) {
        return registry::get_round(tx, job.id, unit.key.round);
    }));
    const auto mine = reexecute(context, job, round, unit);
    if (!mine.ok()) {
        const ErrorCode code = mine.error().code;
        if (code != ErrorCode::kNotFound && code != ErrorCode::kMismatch) return mine.error();
        return void_dispute(context, job, unit, mine.error(), summary);
    }
    return context.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_TRY(const auto stored, registry::find_commitment(tx, unit.id));
        if (!stored) return fail(ErrorCode::kInternal, "a disputed unit has no commitment");
        GYM_TRY(const registry::Unit current, registry::get_unit(tx, unit.id));
        if (current.status.state != UnitState::kDisputed) return {};
        const bool right = protocol::roots_of(stored->commitment.commitment) == mine->roots;
        return write_ruling(context, tx, job, current, {right, too_late}, summary);
    });
}

}  // namespace

Status settle_deadlines(const Context& context, const registry::Job& job, TickSummary& summary) {
    const UnixMs now_ms = context.now();
    GYM_TRY(const auto games, game_watch(context));
    GYM_TRY(const auto overdue, context.transact([&](db::Transaction& tx) {
        return registry::overdue_units(tx, job.id, now_ms, games);
    }));
    for (const registry::Unit& late : overdue) {
        // A verifier's word alone rejects nobody: the referee looks first (referee_disputes).
        if (late.status.state == UnitState::kDisputed) continue;
        GYM_TRY(const registry::Unit unit,
                context.transact([&](db::Transaction& tx) -> Result<registry::Unit> {
                    GYM_TRY(const registry::Unit moved,
                            registry::advance(tx, late.id, protocol::event::TimePassed{},
                                              job.terms.lifecycle, now_ms));
                    GYM_CHECK(after_deadline(context, tx, moved, now_ms));
                    return moved;
                }));
        note(summary, protocol::name_unit(unit.key) + ": " +
                          std::string(protocol::to_string(unit.status.state)));
    }
    return {};
}

Status referee_disputes(const Context& context, const registry::Job& job, TickSummary& summary) {
    registry::UnitFilter disputed;
    disputed.job_id = job.id;
    disputed.states = {UnitState::kDisputed};
    GYM_TRY(const auto units, context.transact([&](db::Transaction& tx) {
        return registry::list_units(tx, disputed);
    }));
    if (units.empty()) return {};
    GYM_TRY(const auto games, game_watch(context));
    for (const registry::Unit& unit : units) {
        GYM_TRY(const Word word, decide_by_games(context, job, games, unit, summary));
        if (word == Word::kChain) continue;
        const bool own = unit.worker == context.deps.key.address();
        if (own && !unit.status.defended) {
            // The coordinator stands by its own units: it lets the recomputation decide.
            Status defended = context.transact([&](db::Transaction& tx) -> Status {
                GYM_CHECK(registry::advance(tx, unit.id, protocol::event::Defended{},
                                            job.terms.lifecycle, context.now()));
                return {};
            });
            // Late is fine too: then the deadline brings the referee.
            if (!defended.ok() && defended.error().code != ErrorCode::kTimeout) return defended;
        }
        const bool due = unit.status.deadline_ms != 0 && context.now() > unit.status.deadline_ms;
        if (own || unit.status.defended || due)
            GYM_CHECK(rule(context, job, unit.id, word == Word::kRefereeTooLate, summary));
    }
    return {};
}

}  // namespace gym::coordinator
