#include "drivers/disputes.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "drivers/draws.hpp"
#include "drivers/game_state.hpp"
#include "drivers/membership.hpp"
#include "drivers/reexecution.hpp"
#include "gym/coordinator/decisions.hpp"
#include "gym/registry/audits.hpp"
#include "gym/registry/report_claims.hpp"

namespace gym::coordinator {
namespace {

using protocol::UnitState;

/// Units whose deadlines are over: those of rounds that another one may follow, and the others.
struct Overdue {
    std::vector<registry::UnitStep> followed, last;
};

/// Ends or moves on units whose deadlines are over. Draws that were missed go to the next verifier.
Result<std::vector<registry::Unit>> pass_deadlines(const Context& context, db::Transaction& tx,
                                                   const registry::Job& job, const Overdue& overdue,
                                                   UnixMs now_ms) {
    GYM_CHECK(registry::lock_feed(tx));
    GYM_TRY(auto moved, registry::advance_all(tx, overdue.followed, lifecycle_of(job, 0), now_ms));
    GYM_TRY(auto others,
            registry::advance_all(tx, overdue.last, lifecycle_of(job, job.terms.rounds), now_ms));
    std::ranges::move(others, std::back_inserter(moved));
    GYM_CHECK(assign_verifiers(context, tx, moved, now_ms));
    return moved;
}

/// Steps of late units for whose commitments there will be no epoch, because the job ended before
/// the round after theirs began.
Result<std::vector<registry::UnitStep>> without_epoch(db::Transaction& tx,
                                                      const registry::Job& job) {
    registry::UnitFilter committed;
    committed.job_id = job.id;
    committed.states = {UnitState::kCommitted};
    committed.limit = registry::kUnitsListMax;
    std::vector<registry::UnitStep> steps;
    GYM_TRY(const auto last, registry::last_round(tx, job.id));
    GYM_TRY(const auto units, registry::list_units(tx, committed));
    for (const registry::Unit& unit : units)
        if (unit.status.late && last && unit.key.round == last->round)
            steps.push_back(
                {unit.id, protocol::event::Voided{}, protocol::no_next_round(unit.key)});
    return steps;
}

Status void_without_epoch(const Context& context, const registry::Job& job, TickSummary& summary) {
    if (!job.terms.elastic.accept_late || !job.ended_at_ms) return {};
    GYM_TRY(auto steps,
            context.transact([&](db::Transaction& tx) { return without_epoch(tx, job); }));
    if (steps.empty()) return {};
    const Status voided = context.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_TRY(steps, without_epoch(tx, job));
        GYM_CHECK(registry::advance_all(tx, steps, job.terms.lifecycle, context.now()));
        return {};
    });
    GYM_CHECK(voided);
    for (const registry::UnitStep& step : steps)
        note(summary, "void: " + step.reason->sentence);
    return {};
}

/// A dispute ended for the worker, with `event`: a verifier whose finding was false is excluded.
Result<registry::Unit> end_for_worker(const Context& context, db::Transaction& tx,
                                      const registry::Job& job, const registry::Unit& unit,
                                      const protocol::UnitEvent& event) {
    const UnixMs now_ms = context.now();
    const protocol::LifecycleParams& params = job.terms.lifecycle;
    const UnitChange change = uphold(unit, event);
    GYM_TRY(registry::Unit upheld,
            registry::advance(tx, unit.id, change.event, params, now_ms, change.reason));
    if (const auto reporter = reporter_of(unit))
        GYM_CHECK(exclude_verifier(context, tx, *reporter, upheld, params, now_ms));
    GYM_TRY(const auto worker, registry::find_node(tx, unit.worker));
    if (!worker || !worker->excluded) return upheld;
    return registry::advance(tx, unit.id, protocol::event::Voided{}, params, now_ms,
                             protocol::worker_excluded(unit.key));
}

/// Its games ended for the worker, and no report disputes the unit.
Status end_by_games(const Context& context, const registry::Job& job, const Digest& id,
                    TickSummary& summary) {
    return context.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_TRY(const registry::Unit current, registry::get_unit(tx, id));
        if (!is_only_challenged(current)) return {};
        GYM_TRY(const registry::Unit ended,
                end_for_worker(context, tx, job, current, protocol::event::GameEnded{true}));
        note(summary, protocol::name_unit(ended.key) + ": " +
                          std::string(protocol::to_string(ended.status.state)) + " by its game");
        return {};
    });
}

/// The referee can no longer check the unit: no one is at fault.
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

/// The referee's finding.
struct Ruling {
    bool worker_right = false;
    /// Absent: the network plays none.
    std::optional<GameVerdict> games = std::nullopt;
};

/// What it means for the worker's stake that it is wrong and no game proved it.
std::string stake_kept(const std::optional<GameVerdict>& games) {
    if (games == GameVerdict::kNeverOpened)
        return "no game about its fault was opened while one could be, so it costs no stake: if "
               "verifiers are behind, the window is too short for them (`gym params check`): add "
               "verifiers, or deploy with a longer one";
    if (games == GameVerdict::kUpheld)
        return "its challengers lost every game about its fault, so it costs no stake: a "
               "challenger "
               "that ran out of time needs `chain_rpc` that answers and ether for its moves (`gym "
               "dispute list`)";
    return {};
}

/// Applies the referee's finding.
Status write_ruling(const Context& context, db::Transaction& tx, const registry::Job& job,
                    const registry::Unit& unit, const Ruling& ruling, TickSummary& summary) {
    const auto say = [&](const registry::Unit& ruled) {
        note(summary, protocol::name_unit(unit.key) + ": " +
                          std::string(protocol::to_string(ruled.status.state)) + " by the referee");
    };
    if (ruling.worker_right) {
        GYM_TRY(const registry::Unit upheld,
                end_for_worker(context, tx, job, unit, protocol::event::Ruled{true}));
        say(upheld);
        return {};
    }
    const UnixMs now_ms = context.now();
    GYM_TRY(const UnitChange change, reject(unit, ruling.games));
    if (const std::string kept = stake_kept(ruling.games); !kept.empty())
        note(summary, protocol::name_unit(unit.key) + ": " + kept);
    GYM_TRY(
        const registry::Unit rejected,
        registry::advance(tx, unit.id, change.event, job.terms.lifecycle, now_ms, change.reason));
    say(rejected);
    return exclude_worker(context, tx, rejected, now_ms);
}

/// A dispute that the referee decides, or looks at before anything is decided.
struct Due {
    registry::Unit unit;
    std::optional<GameVerdict> games;  ///< absent: the network plays none
    bool early = false;
};

/// The worker was right, as its pay cannot know before the window on chain is over. Its work can,
/// and whoever wrote the report.
Status refute(const Context& context, db::Transaction& tx, const registry::Job& job,
              const registry::Unit& unit, TickSummary& summary) {
    const auto reporter = reporter_of(unit);
    if (!reporter || is_refuted(unit)) return {};
    const protocol::Reason reason = protocol::false_report(unit.key, *reporter);
    GYM_CHECK(registry::refute_report(tx, unit.id, reason));
    GYM_CHECK(exclude_verifier(context, tx, *reporter, unit, job.terms.lifecycle, context.now()));
    note(summary, reason.sentence);
    return {};
}

/// @param mine the referee's run, or why it can have none.
Status rule(const Context& context, const registry::Job& job, const Due& due,
            const Result<Compute::Reexecuted>& mine, TickSummary& summary) {
    if (!mine.ok()) {
        const ErrorCode code = mine.error().code;
        if (due.early) {  // the end of the window brings the referee again
            if (!may_work_later(code)) context.rulings->note_known({due.unit.id});
            return {};
        }
        if (may_work_later(code)) {  // the next tick begins it anew
            summary.errors.push_back("job " + short_id(job.id) +
                                     ": referee: " + mine.error().message);
            return {};
        }
        if (code != ErrorCode::kNotFound && code != ErrorCode::kMismatch) return mine.error();
        return void_dispute(context, job, due.unit, mine.error(), summary);
    }
    return context.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_TRY(const auto stored, registry::find_commitment(tx, due.unit.id));
        if (!stored) return fail(ErrorCode::kInternal, "a disputed unit has no commitment");
        GYM_CHECK(registry::check_report_claims(tx, due.unit.id, mine->roots, context.now()));
        GYM_TRY(const registry::Unit current, registry::get_unit(tx, due.unit.id));
        if (current.status.state != UnitState::kDisputed) return {};
        const bool right = protocol::roots_of(stored->commitment.commitment) == mine->roots;
        if (due.early && right) return refute(context, tx, job, current, summary);
        if (due.early) {
            context.rulings->note_known({due.unit.id});
            return {};
        }
        return write_ruling(context, tx, job, current, {right, due.games}, summary);
    });
}

/// Begins the run that decides it, unless the job has one under way. It comes before audits: it
/// holds a unit's pay and a stake.
Status begin_ruling(const Context& context, const registry::Job& job, const registry::Unit& unit) {
    if (!context.rulings->has_room(job.id, context.now())) return {};
    GYM_TRY(const registry::Round round, context.transact([&](db::Transaction& tx) {
        return registry::get_round(tx, job.id, unit.key.round);
    }));
    const ReexecutionBoard::Key key{unit.id};
    context.rulings->begin(job.id, key);
    context.deps.background->run_soon(
        [context, job, key, round, unit](const std::stop_token& stop) {
            auto mine = reexecute(context, job, round, unit, nullptr, stop);
            context.rulings->finish(job.id, key, std::move(mine), context.now());
        });
    return {};
}

/// Begins one run, of those that decide something first, and decides what a run has an answer for.
/// An answer for a dispute that ended meanwhile, by its game, decides nothing.
Status rule_next(const Context& context, const registry::Job& job, const std::vector<Due>& due,
                 TickSummary& summary) {
    const auto first = std::ranges::min_element(due, {}, &Due::early);
    if (first != due.end()) GYM_CHECK(begin_ruling(context, job, first->unit));
    const auto finished = context.rulings->take(job.id);
    if (!finished) return {};
    const auto one = std::ranges::find_if(
        due, [&](const Due& other) { return other.unit.id == finished->key.unit; });
    if (one == due.end()) return {};
    return rule(context, job, *one, finished->result, summary);
}

/// The window of a unit whose report was refuted is over: another run would find the same.
Status end_refuted(const Context& context, const registry::Job& job, const Digest& id,
                   TickSummary& summary) {
    return context.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_TRY(const registry::Unit current, registry::get_unit(tx, id));
        if (!is_refuted(current)) return {};
        return write_ruling(context, tx, job, current, {.worker_right = true}, summary);
    });
}

/// The coordinator defends its own units: the recomputation decides about them, too.
Status defend_own(const Context& context, const registry::Job& job, const Digest& id) {
    Status defended = context.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::advance(tx, id, protocol::event::Defended{}, job.terms.lifecycle,
                                    context.now()));
        return {};
    });
    // Late is fine too: then the deadline brings the referee.
    if (!defended.ok() && defended.error().code != ErrorCode::kTimeout) return defended;
    return {};
}

/// A fault that nobody takes to the chain costs no stake.
Status warn_of_end(const Context& context, const registry::GameWatch& games,
                   const registry::Unit& unit, TickSummary& summary) {
    GYM_TRY(const auto last, last_call(context, games, unit));
    if (last)
        summary.errors.push_back(
            protocol::name_unit(unit.key) + " of job " + short_id(unit.key.job_id) +
            " is wrong, and nobody has opened a game about it: after block " +
            std::to_string(*last) +
            " its worker keeps its stake (do verifiers with `chain_rpc` run?)");
    return {};
}

/// Ends the dispute if its games do. @return whether the referee decides it.
Result<std::optional<Due>> look_at_dispute(const Context& context, const registry::Job& job,
                                           const std::optional<registry::GameWatch>& games,
                                           const registry::Unit& unit, TickSummary& summary) {
    DisputeFacts facts{unit, unit.worker == context.deps.key.address(), std::nullopt};
    // No game is about an evaluation.
    if (games && unit.kind != protocol::UnitKind::kEvaluate) {
        GYM_TRY(facts.games, verdict_on(context, *games, unit));
    }
    switch (next_step(facts, context.now())) {
        case DisputeStep::kWait:
            return std::optional<Due>();
        case DisputeStep::kUphold:
            GYM_CHECK(end_by_games(context, job, unit.id, summary));
            return std::optional<Due>();
        case DisputeStep::kLookEarly:
            if (!context.rulings->is_known({unit.id}))
                return std::optional(Due{unit, facts.games, true});
            GYM_CHECK(warn_of_end(context, *games, unit, summary));
            return std::optional<Due>();
        case DisputeStep::kDefendAndRule:
            GYM_CHECK(defend_own(context, job, unit.id));
            break;
        case DisputeStep::kRule:
            if (!is_refuted(unit)) break;
            GYM_CHECK(end_refuted(context, job, unit.id, summary));
            return std::optional<Due>();
    }
    return std::optional(Due{unit, facts.games});
}

}  // namespace

Status settle_deadlines(const Context& context, const registry::Job& job, TickSummary& summary) {
    GYM_CHECK(void_without_epoch(context, job, summary));
    const UnixMs now_ms = context.now();
    GYM_TRY(const auto games, game_watch(context));
    GYM_TRY(const auto overdue, context.transact([&](db::Transaction& tx) {
        return registry::overdue_units(tx, job.id, now_ms, {games, context.options.delta_wait_ms});
    }));
    Overdue steps;
    for (const registry::Unit& unit : overdue)
        // A report alone does not reject a unit: the referee looks first (referee_disputes).
        if (unit.status.state != UnitState::kDisputed)
            (unit.key.round < job.terms.rounds ? steps.followed : steps.last)
                .push_back({unit.id, protocol::event::TimePassed{}});
    if (steps.followed.empty() && steps.last.empty()) return {};
    GYM_TRY(const auto moved, context.transact([&](db::Transaction& tx) {
        return pass_deadlines(context, tx, job, steps, now_ms);
    }));
    for (const registry::Unit& unit : moved) {
        const bool late = unit.status.state == UnitState::kAssigned && unit.status.late;
        note(summary, protocol::name_unit(unit.key) + ": " +
                          (late ? "late" : std::string(protocol::to_string(unit.status.state))));
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
    std::vector<Due> due;
    if (!units.empty()) {
        GYM_TRY(const auto games, game_watch(context));
        for (const registry::Unit& unit : units) {
            GYM_TRY(auto one, look_at_dispute(context, job, games, unit, summary));
            if (one) due.push_back(*std::move(one));
        }
    }
    return rule_next(context, job, due, summary);
}

}  // namespace gym::coordinator
