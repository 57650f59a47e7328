#include "gym/measure/evaluation.hpp"

#include <string>
#include <utility>

#include "gym/program/codec.hpp"

namespace gym::measure {
namespace {

Status check_number(const char* what, std::uint32_t value, std::uint32_t least,
                    std::uint32_t most) {
    if (value >= least && value <= most) return {};
    return fail(ErrorCode::kInvalidArgument,
                std::string(what) + " of an evaluation: " + std::to_string(value) +
                    " is outside [" + std::to_string(least) + ", " + std::to_string(most) + "]");
}

Status check_numbers(const EvaluationInputs& inputs) {
    const program::ModelConfig& model = inputs.model.model;
    if (model.classes != 0 || model.architecture == program::Architecture::kMlp ||
        model.architecture == program::Architecture::kEncoder)
        return fail(ErrorCode::kInvalidArgument,
                    "an evaluation's model predicts the next token; a classifier or an encoder "
                    "does not");
    GYM_CHECK(check_number("base_steps", inputs.base_steps, 0, kEvaluationStepsMax));
    GYM_CHECK(check_number("steps", inputs.steps, 1, kEvaluationStepsMax));
    // Whole batches: fewer windows than a batch would be more than requested.
    return check_number("windows", inputs.windows, inputs.model.batch, kEvaluationWindowsMax);
}

Status check_vocabulary(const blob::Dataset& dataset, std::uint32_t vocabulary) {
    if (dataset.vocabulary() == vocabulary) return {};
    return fail(ErrorCode::kInvalidArgument,
                "its vocabulary has " + std::to_string(dataset.vocabulary()) +
                    " tokens, the evaluation is for " + std::to_string(vocabulary));
}

Status check_text(const blob::Dataset& dataset, blob::Split split,
                  const program::ModelConfig& model) {
    GYM_CHECK(check_vocabulary(dataset, model.vocabulary));
    GYM_CHECK(dataset.window_count(split, std::uint64_t{model.context} + 1));
    return {};
}

quality::EvaluationTerms terms_of(const EvaluationInputs& inputs, const program::Program& program) {
    quality::EvaluationTerms out;
    out.program_root = program::program_root(program);
    out.seed = inputs.seed;
    out.vocabulary = inputs.model.model.vocabulary;
    out.base_steps = inputs.base_steps;
    out.steps = inputs.steps;
    out.windows = inputs.windows;
    out.reference_root = inputs.reference.root();
    out.held_out = quality::held_out_commitment(inputs.salt, inputs.held_out.root());
    return out;
}

}  // namespace

Result<Evaluation> Evaluation::create(EvaluationInputs inputs) {
    GYM_CHECK(check_numbers(inputs));
    GYM_TRY(program::Program program, program::train_program(inputs.model));
    if (const Status fits = check_text(inputs.reference, blob::Split::kTrain, inputs.model.model);
        !fits.ok())
        return fits.error().in("the reference text");
    if (const Status fits = check_text(inputs.held_out, blob::Split::kAll, inputs.model.model);
        !fits.ok())
        return fits.error().in("the held-out text");
    return Evaluation(std::move(inputs), std::move(program));
}

Evaluation::Evaluation(EvaluationInputs inputs, program::Program program)
    : inputs_(std::move(inputs)),
      program_(std::move(program)),
      terms_(terms_of(inputs_, program_)),
      id_(quality::evaluation_id(terms_)) {}

Status Evaluation::check(const blob::Dataset& dataset) const {
    const Status fits = check_text(dataset, blob::Split::kTrain, inputs_.model.model);
    if (!fits.ok()) return fits.error().in("dataset " + dataset.root().hex());
    return {};
}

}  // namespace gym::measure
