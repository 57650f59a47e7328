// Reports that agree with units which games proved wrong. A worker can lose a game about a right
// unit on purpose, so only another run shows whether the verifier was wrong, too.
#include "drivers/report_checks.hpp"

#include "drivers/reexecution.hpp"
#include "gym/registry/report_claims.hpp"

namespace gym::coordinator {
namespace {

Status begin_next(const Context& context, const registry::Job& job) {
    if (!context.report_checks->has_room(job.id, context.now())) return {};
    struct Due {
        registry::Unit unit;
        registry::Round round;
    };
    GYM_TRY(const auto due,
            context.transact([&](db::Transaction& tx) -> Result<std::optional<Due>> {
                GYM_TRY(const auto id, registry::next_report_check(tx, job.id));
                if (!id) return std::optional<Due>();
                GYM_TRY(registry::Unit unit, registry::get_unit(tx, *id));
                GYM_TRY(registry::Round round, registry::get_round(tx, job.id, unit.key.round));
                return std::optional(Due{std::move(unit), std::move(round)});
            }));
    if (!due) return {};
    const ReexecutionBoard::Key key{due->unit.id};
    context.report_checks->begin(job.id, key);
    context.deps.background->run(
        [context, job, key, round = due->round, unit = due->unit](const std::stop_token& stop) {
            auto mine = reexecute(context, job, round, unit, nullptr, stop);
            context.report_checks->finish(job.id, key, std::move(mine), context.now());
        });
    return {};
}

}  // namespace

Status check_reports(const Context& context, const registry::Job& job, TickSummary& summary) {
    if (!context.options.wants_report_claims()) return {};
    GYM_CHECK(begin_next(context, job));
    const auto finished = context.report_checks->take(job.id);
    if (!finished) return {};
    const auto& mine = finished->result;
    if (!mine.ok() && may_work_later(mine.error().code)) {  // the next tick begins it anew
        summary.errors.push_back("job " + short_id(job.id) +
                                 ": check of a report: " + mine.error().message);
        return {};
    }
    return context.transact([&](db::Transaction& tx) {
        return mine.ok() ? registry::check_report_claims(tx, finished->key.unit, mine->roots,
                                                         context.now())
                         : registry::give_up_report_claims(tx, finished->key.unit, context.now());
    });
}

}  // namespace gym::coordinator
