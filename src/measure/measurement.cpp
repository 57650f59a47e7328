#include "gym/measure/measurement.hpp"

#include <bit>
#include <chrono>
#include <utility>

#include "gym/engine/evaluate.hpp"

namespace gym::measure {
namespace {

/// The base state is round 0 where it is trained at all; what is measured comes after it, with
/// other windows and on the schedule's later steps.
std::uint64_t measured_round(const quality::EvaluationTerms& terms) {
    return terms.base_steps == 0 ? 0 : 1;
}

Result<engine::UnitResult> train(const Evaluation& evaluation, const Base& base,
                                 const blob::Dataset& dataset, std::uint64_t round,
                                 std::uint32_t steps, std::string_view what,
                                 const MeasureOptions& options) {
    engine::UnitSpec spec;
    spec.job_seed = evaluation.terms().seed;
    spec.round = round;
    spec.steps = steps;
    spec.checkpoint_every = steps;
    spec.program_root = evaluation.terms().program_root;
    spec.dataset_root = dataset.root();
    spec.base_state_root = base.state_root;
    engine::RunOptions run;
    run.engine = options.engine;
    run.cancel = options.cancel;
    if (options.progress)
        run.progress = [&](const engine::UnitProgress& at) { options.progress(what, at); };
    return engine::run_unit({evaluation.program(), base.state, dataset, spec}, run);
}

/// The bits of the loss on the held-out text.
Result<std::uint32_t> score(const Evaluation& evaluation, const engine::State& state,
                            const MeasureOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    const auto progress = [&](std::uint32_t done, std::uint32_t windows, float loss) {
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        const std::uint64_t tokens = std::uint64_t{done} * evaluation.context();
        if (options.progress)
            options.progress("held-out text",
                             {done, windows, loss, static_cast<double>(tokens) / spent.count()});
        return !options.cancel.stop_requested();
    };
    GYM_TRY(
        const engine::Evaluation result,
        engine::evaluate(evaluation.program(), state, evaluation.held_out(),
                         evaluation.terms().windows, options.engine, progress, blob::Split::kAll));
    return std::bit_cast<std::uint32_t>(result.mean_loss);
}

Result<Scored> train_and_score(const Evaluation& evaluation, const Base& base,
                               const blob::Dataset& dataset, std::string_view what,
                               const MeasureOptions& options) {
    const quality::EvaluationTerms& terms = evaluation.terms();
    GYM_TRY(const engine::UnitResult unit,
            train(evaluation, base, dataset, measured_round(terms), terms.steps, what, options));
    Scored out;
    out.state_root = unit.final_state_root;
    GYM_TRY(out.loss_bits, score(evaluation, unit.final_state, options));
    return out;
}

}  // namespace

Result<Base> make_base(const Evaluation& evaluation, const MeasureOptions& options) {
    const quality::EvaluationTerms& terms = evaluation.terms();
    const unsigned threads = options.engine.threads;
    GYM_TRY(const engine::State initial, engine::initial_state(evaluation.program(), terms.seed));
    Base base;
    GYM_TRY(base.state, engine::base_of(evaluation.program(), initial));
    base.state_root = engine::state_root(base.state, threads);
    if (terms.base_steps == 0) return base;
    GYM_TRY(const engine::UnitResult unit, train(evaluation, base, evaluation.reference(), 0,
                                                 terms.base_steps, "base state", options));
    GYM_TRY(base.state, engine::base_of(evaluation.program(), unit.final_state));
    base.state_root = engine::state_root(base.state, threads);
    return base;
}

Result<ReferenceLosses> measure_reference(const Evaluation& evaluation, const Base& base,
                                          const MeasureOptions& options) {
    ReferenceLosses out;
    out.before.state_root = base.state_root;
    GYM_TRY(out.before.loss_bits, score(evaluation, base.state, options));
    GYM_TRY(out.baseline,
            train_and_score(evaluation, base, evaluation.reference(), "reference", options));
    GYM_CHECK(quality::usefulness_ppm(losses_of(out, out.baseline)));
    if (out.baseline.loss_bits < out.before.loss_bits) return out;  // of losses, the bits' order
    return fail(ErrorCode::kInvalidArgument,
                "training on the reference does not lower the loss on the held-out text: take "
                "more steps, another learning rate or other texts");
}

Result<Scored> measure_dataset(const Evaluation& evaluation, const Base& base,
                               const blob::Dataset& dataset, const MeasureOptions& options) {
    GYM_CHECK(evaluation.check(dataset));
    return train_and_score(evaluation, base, dataset, "dataset", options);
}

quality::LossBits losses_of(const ReferenceLosses& reference, const Scored& after) {
    return {reference.before.loss_bits, after.loss_bits, reference.baseline.loss_bits};
}

}  // namespace gym::measure
