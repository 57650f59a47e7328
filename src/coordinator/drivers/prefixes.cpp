// Prefixes of units that end without a commitment: draws of their verifiers, and verdicts.
#include "drivers/prefixes.hpp"

#include <map>
#include <set>
#include <utility>

#include "drivers/audits.hpp"
#include "drivers/draws.hpp"
#include "drivers/membership.hpp"
#include "drivers/reexecution.hpp"
#include "gym/coordinator/decisions.hpp"

namespace gym::coordinator {
namespace {

using protocol::PrefixState;
using registry::DuePrefix;

/// The next step of a due prefix.
enum class PrefixStep {
    kWait,
    kDraw,    ///< its first draw, or the next one
    kAssign,  ///< a verifier for the current draw
    kDrop,    ///< it ends unpaid
    kLook,    ///< the coordinator runs it itself
};

struct PrefixMove {
    const DuePrefix* due = nullptr;
    PrefixStep step = PrefixStep::kWait;
    std::string why = {};  ///< of kDrop
};

/// Facts that moves depend on, read once.
struct PrefixFacts {
    std::map<std::uint64_t, registry::Round> rounds;  ///< by number, with a beacon
    std::map<Address, std::uint32_t> in_row;          ///< by worker: registry::prefixes_in_row()
    std::set<Address> gone;                           ///< verifiers that signed off
    bool any_live = false;                            ///< some verifier is there
    UnixMs now_ms = 0;
};

Result<PrefixFacts> prefix_facts(db::Transaction& tx, std::span<const DuePrefix> due,
                                 std::span<const registry::Node> live, UnixMs now_ms) {
    PrefixFacts out;
    out.now_ms = now_ms;
    out.any_live = !live.empty();
    std::vector<Address> verifiers;
    for (const DuePrefix& one : due) {
        if (one.prefix.verifier) verifiers.push_back(*one.prefix.verifier);
        const std::uint64_t number = one.unit.epoch_round();
        if (!out.rounds.contains(number)) {
            auto round = registry::get_round(tx, one.unit.key.job_id, number);
            if (!round.ok() && round.error().code != ErrorCode::kNotFound) return round.error();
            if (round.ok() && round->beacon) out.rounds.emplace(number, *std::move(round));
        }
        if (one.prefix.state != PrefixState::kKept || !out.rounds.contains(number) ||
            out.in_row.contains(one.unit.worker))
            continue;
        GYM_TRY(const std::uint32_t count,
                registry::prefixes_in_row(tx, one.unit.key.job_id, one.unit.worker, now_ms));
        out.in_row.emplace(one.unit.worker, count);
    }
    if (verifiers.empty()) return out;
    GYM_TRY(out.gone, registry::signed_off(tx, verifiers));
    return out;
}

PrefixMove first_prefix_move(const registry::Job& job, const DuePrefix& due, PrefixFacts& facts) {
    if (!facts.rounds.contains(due.unit.epoch_round())) {
        // The beacon after a late unit's end is the next round's.
        if (job.ended_at_ms && due.unit.status.late)
            return {&due, PrefixStep::kDrop,
                    "the job ended before another round could draw its verifier"};
        return {&due, PrefixStep::kWait};
    }
    std::uint32_t& in_row = facts.in_row[due.unit.worker];
    if (in_row >= protocol::kPrefixesInRowMax)
        return {&due, PrefixStep::kDrop,
                "its worker was paid for " + std::to_string(in_row) +
                    " prefixes since it last committed to a unit of the job"};
    ++in_row;
    return {&due, PrefixStep::kDraw};
}

PrefixMove prefix_move(const registry::Job& job, const DuePrefix& due, PrefixFacts& facts) {
    if (due.worker_excluded) return {&due, PrefixStep::kDrop, "its worker is excluded"};
    if (due.prefix.state == PrefixState::kReported) return {&due, PrefixStep::kLook};
    if (due.prefix.state == PrefixState::kKept) return first_prefix_move(job, due, facts);
    const protocol::LifecycleParams& params = job.terms.lifecycle;
    const bool last = due.prefix.draws >= params.draws_max;
    if (facts.now_ms > due.prefix.deadline_ms) {
        if (!last) return {&due, PrefixStep::kDraw};
        return {&due, PrefixStep::kDrop,
                "no verifier reported on it in " + std::to_string(due.prefix.draws) + " draws"};
    }
    if (!due.prefix.verifier)
        return {&due, facts.any_live ? PrefixStep::kAssign : PrefixStep::kWait};
    return {&due, facts.gone.contains(*due.prefix.verifier) && !last ? PrefixStep::kDraw
                                                                     : PrefixStep::kWait};
}

std::vector<PrefixMove> prefix_moves(const registry::Job& job, std::span<const DuePrefix> due,
                                     PrefixFacts& facts) {
    std::vector<PrefixMove> out;
    for (const DuePrefix& one : due) {
        PrefixMove move = prefix_move(job, one, facts);
        if (move.step != PrefixStep::kWait) out.push_back(std::move(move));
    }
    return out;
}

/// Chooses verifiers of a job's prefixes as those of units are chosen.
class PrefixChooser {
  public:
    PrefixChooser(const Context& context, std::span<const DuePrefix> due,
                  std::vector<registry::Node> verifiers)
        : context_(context), verifiers_(std::move(verifiers)) {
        for (const DuePrefix& one : due)
            if (one.prefix.verifier && one.prefix.state == PrefixState::kDrawn)
                ++loads_[*one.prefix.verifier];
    }
    /// @param draws with the one that is chosen for.
    std::optional<Address> choose(const registry::Round& round, const DuePrefix& due,
                                  std::uint32_t draws) {
        registry::Unit unit = due.unit;
        unit.status.draws = draws;
        std::vector<registry::MissedDraws> missed;
        if (due.prefix.verifier) missed.push_back({*due.prefix.verifier, 1});
        const auto chosen = choose_verifier(
            round, unit, verifiers_, missed, loads_,
            [&](const registry::Node& node) { return context_.may_draw(node.address); });
        if (chosen) ++loads_[*chosen];
        return chosen;
    }

  private:
    const Context& context_;
    const std::vector<registry::Node> verifiers_;
    std::map<Address, std::uint32_t> loads_;
};

std::string name_prefix(const DuePrefix& due) {
    return protocol::name_unit(due.unit.key) + ": the prefix of " +
           std::to_string(due.prefix.steps) + " steps";
}

Status drop_prefix(db::Transaction& tx, const DuePrefix& due, const std::string& why,
                   UnixMs now_ms) {
    return registry::decide_prefix(
        tx, due.unit.id, {PrefixState::kUnpaid, 0, false, name_prefix(due) + ": " + why}, now_ms);
}

Status make_prefix_moves(const Context& context, db::Transaction& tx, const registry::Job& job,
                         TickSummary& summary) {
    const UnixMs now_ms = context.now();
    GYM_CHECK(registry::lock_feed(tx));
    GYM_TRY(const auto due, registry::due_prefixes(tx, job.id));
    GYM_TRY(auto verifiers, live_verifiers(context, tx, now_ms));
    GYM_TRY(PrefixFacts facts, prefix_facts(tx, due, verifiers, now_ms));
    PrefixChooser chooser(context, due, std::move(verifiers));
    for (const PrefixMove& move : prefix_moves(job, due, facts)) {
        const DuePrefix& one = *move.due;
        const std::uint32_t draws = one.prefix.draws;
        switch (move.step) {
            case PrefixStep::kDraw:
                GYM_CHECK(registry::draw_prefix(
                    tx, one.unit.id,
                    chooser.choose(facts.rounds.at(one.unit.epoch_round()), one, draws + 1),
                    now_ms + job.terms.lifecycle.report_ms));
                note(summary, name_prefix(one) + " is drawn");
                break;
            case PrefixStep::kAssign:
                if (const auto verifier =
                        chooser.choose(facts.rounds.at(one.unit.epoch_round()), one, draws))
                    GYM_CHECK(registry::set_prefix_verifier(tx, one.unit.id, *verifier));
                break;
            case PrefixStep::kDrop:
                GYM_CHECK(drop_prefix(tx, one, move.why, now_ms));
                note(summary, name_prefix(one) + " is not paid: " + move.why);
                break;
            case PrefixStep::kLook:
            case PrefixStep::kWait:
                break;
        }
    }
    return {};
}

registry::PrefixVerdict prefix_verdict(const registry::Job& job, const registry::Prefix& prefix,
                                       PrefixState state, bool verifier_paid) {
    return {state, job.artifacts->flops_per_step * prefix.steps, verifier_paid, ""};
}

/// The coordinator's own run of a prefix decides about its worker and its verifier.
Status rule_prefix(const Context& context, db::Transaction& tx, const registry::Job& job,
                   const DuePrefix& due, const Digest& mine) {
    const UnixMs now_ms = context.now();
    const registry::Prefix& prefix = due.prefix;
    const bool right = prefix.link == mine;
    const bool found_right = prefix.report->link == mine;
    registry::PrefixVerdict verdict = prefix_verdict(
        job, prefix, right ? PrefixState::kVerified : PrefixState::kRefuted, found_right);
    registry::Unit cause = due.unit;
    if (!right) {
        const protocol::Reason reason = protocol::result_differs(
            due.unit.key, "record chain after " + std::to_string(prefix.steps) + " steps",
            prefix.link, mine);
        cause.reason_code = protocol::to_string(reason.code);
        cause.reason = verdict.reason = reason.sentence;
    }
    GYM_CHECK(registry::decide_prefix(tx, due.unit.id, verdict, now_ms));
    if (!found_right)
        GYM_CHECK(
            exclude_verifier(context, tx, *prefix.verifier, due.unit, job.terms.lifecycle, now_ms));
    return right ? Status() : exclude_worker(context, tx, cause, now_ms);
}

Status conclude_prefix(const Context& context, const registry::Job& job,
                       const ReexecutionBoard::Finished& finished, TickSummary& summary) {
    return context.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_TRY(const auto all, registry::due_prefixes(tx, job.id));
        for (const DuePrefix& due : all) {
            // Another instance may have decided it.
            if (due.unit.id != finished.key.unit || due.prefix.state != PrefixState::kReported)
                continue;
            if (!finished.result.ok())
                return drop_prefix(tx, due, finished.result.error().message, context.now());
            const Digest& mine = finished.result->roots.records;
            GYM_CHECK(rule_prefix(context, tx, job, due, mine));
            note(summary,
                 name_prefix(due) + (due.prefix.link == mine ? " is verified" : " is refuted"));
        }
        return {};
    });
}

/// Takes the result of the job's run, if there is one.
Status take_finished_prefix(const Context& context, const registry::Job& job,
                            TickSummary& summary) {
    const auto finished = context.prefixes->take(job.id);
    if (!finished) return {};
    if (!finished->result.ok() && may_work_later(finished->result.error().code)) {
        summary.errors.push_back("job " + short_id(job.id) +
                                 ": prefix: " + finished->result.error().message);
        return {};  // the next tick begins it anew
    }
    return conclude_prefix(context, job, *finished, summary);
}

Status begin_prefix_run(const Context& context, const registry::Job& job, const DuePrefix& due) {
    if (!context.prefixes->has_room(job.id, context.now())) return {};
    GYM_TRY(const registry::Round round, context.transact([&](db::Transaction& tx) {
        return registry::get_round(tx, job.id, due.unit.key.round);
    }));
    const ReexecutionBoard::Key key{due.unit.id, due.prefix.draws - 1};
    context.prefixes->begin(job.id, key);
    context.deps.background->run([context, job, key, round, unit = due.unit,
                                  steps = due.prefix.steps](const std::stop_token& stop) {
        const auto link = reexecute_prefix(context, job, round, {unit.key.slot, steps}, stop);
        context.prefixes->finish(
            job.id, key,
            link.ok() ? Result<Compute::Reexecuted>(Compute::Reexecuted{{*link, {}, {}}, {}})
                      : link.error(),
            context.now());
    });
    return {};
}

}  // namespace

Status tend_prefixes(const Context& context, const registry::Job& job, TickSummary& summary) {
    std::optional<DuePrefix> to_look;
    // Most ticks change nothing: they do not take the lock that all who change units wait for.
    GYM_TRY(const bool any, context.transact([&](db::Transaction& tx) -> Result<bool> {
        GYM_TRY(const auto due, registry::due_prefixes(tx, job.id));
        if (due.empty()) return false;
        GYM_TRY(const auto live, live_verifiers(context, tx, context.now()));
        GYM_TRY(PrefixFacts facts, prefix_facts(tx, due, live, context.now()));
        bool moves = false;
        for (const PrefixMove& move : prefix_moves(job, due, facts)) {
            if (move.step != PrefixStep::kLook)
                moves = true;
            else if (!to_look)
                to_look = *move.due;
        }
        return moves;
    }));
    if (any)
        GYM_CHECK(context.transact(
            [&](db::Transaction& tx) { return make_prefix_moves(context, tx, job, summary); }));
    if (to_look) GYM_CHECK(begin_prefix_run(context, job, *to_look));
    return take_finished_prefix(context, job, summary);
}

Status decide_by_report(const Context& context, db::Transaction& tx, const registry::Job& job,
                        const registry::Unit& unit, const registry::Prefix& prefix) {
    if (prefix.report->link != prefix.link || is_audited(context, unit.id, prefix.draws - 1))
        return {};
    return registry::decide_prefix(
        tx, unit.id, prefix_verdict(job, prefix, PrefixState::kVerified, true), context.now());
}

}  // namespace gym::coordinator
