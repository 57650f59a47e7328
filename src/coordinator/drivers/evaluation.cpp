#include "drivers/evaluation.hpp"

#include "drivers/own_units.hpp"
#include "drivers/reexecution.hpp"
#include "gym/coordinator/decisions.hpp"

namespace gym::coordinator {

Result<Compute::Evaluated> evaluate(const Context& context, const registry::Job& job,
                                    const registry::Round& round, const std::stop_token& stop) {
    GYM_TRY(const auto program,
            load_blob(context, job.artifacts->evaluate_program_blob, "evaluation program"));
    GYM_TRY(const auto base, load_blob(context, round.next_base->blob, "next base state"));
    GYM_TRY(const auto tokens, load_dataset(context, job));
    GYM_TRY(Compute::Evaluated result,
            context.deps.compute.evaluate(program.bytes(), base.bytes(), tokens.bytes(),
                                          job.dataset_root, job.terms.evaluate_windows, stop));
    if (result.state_root != round.next_base->root)
        return fail(ErrorCode::kMismatch, name_round(round) + ": the next base state has root " +
                                              result.state_root.hex() + ", not " +
                                              round.next_base->root.hex());
    return result;
}

Status evaluate_base(const Context& context, const registry::Job& job, TickSummary& summary) {
    std::optional<registry::Round> round, last;
    GYM_CHECK(context.transact([&](db::Transaction& tx) -> Status {
        GYM_TRY(round, registry::round_to_evaluate(tx, job.id));
        if (!round) return {};
        GYM_TRY(last, registry::last_round(tx, job.id));
        return {};
    }));
    if (!round || !may_evaluate(last->state)) return {};
    GYM_TRY(const Compute::Evaluated result, evaluate(context, job, *round, {}));
    const auto commitment =
        sign_own_unit(context, *round, protocol::UnitKind::kEvaluate, result.roots(),
                      {result.steps, result.tokens, result.flops});
    const Status written = context.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_CHECK(registry::set_validation_loss(tx, job.id, round->round, result.mean_loss));
        return add_own_unit(context, tx, job, *round, commitment, result.records, context.now());
    });
    GYM_CHECK(written);
    note(summary, name_round(*round) + ": validation loss " + std::to_string(result.mean_loss));
    return {};
}

}  // namespace gym::coordinator
