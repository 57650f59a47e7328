#include "gym/engine/evaluate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/engine/batch.hpp"
#include "gym/kernels/float_environment.hpp"
#include "gym/kernels/programs.h"
#include "gym/kernels/rows.h"
#include "gym/program/codec.hpp"
#include "gym/program/program.hpp"
#include "gym/program/train_program.hpp"
#include "program_shape.hpp"
#include "runner.hpp"
#include "state_of_program.hpp"

namespace gym::engine {
namespace {

using program::Program;

Result<float> loss_of(Runner& runner, const Batch& batch) {
    const ByteView tokens{reinterpret_cast<const std::uint8_t*>(batch.tokens.data()),
                          batch.tokens.size() * sizeof(std::int32_t)};
    const NamedTensorView input{program::kBatchInput, tokens};
    GYM_CHECK(runner.run({&input, 1}));
    GYM_TRY(const Bytes bytes, runner.output(program::kLossOutput));
    float loss = 0;
    if (bytes.size() != sizeof loss)
        return fail(ErrorCode::kShapeMismatch, "the program's loss is not a scalar");
    std::memcpy(&loss, bytes.data(), sizeof loss);
    return loss;
}

std::string logits_name(std::size_t part) {
    return "part." + std::to_string(part);
}

/// A program of which every row of scores can be seen.
struct Scored {
    Program program;
    std::size_t parts = 0;
    /// By row, where the program itself says what counts as right; empty: the row's last token.
    std::vector<std::int32_t> wanted = {};
};

/// `evaluation` with the scores that each of its losses is made from as outputs: they change no
/// bit of the loss.
Result<Scored> with_logits(const Program& evaluation) {
    program::ProgramParts parts{evaluation.numerics_version(), evaluation.slots(), evaluation.ops(),
                                evaluation.outputs()};
    std::size_t count = 0;
    std::vector<std::int32_t> wanted;
    for (const program::Op& op : evaluation.ops()) {
        if (op.code != program::Opcode::kCrossEntropy) continue;
        parts.outputs.push_back({logits_name(count++), op.inputs[0]});
        const program::Slot& targets = evaluation.slot(op.inputs[1]);
        if (targets.value.empty()) continue;  // the row's last token
        const std::size_t before = wanted.size();
        wanted.resize(before + targets.value.size() / sizeof(std::int32_t));
        std::memcpy(wanted.data() + before, targets.value.data(), targets.value.size());
    }
    GYM_TRY(Program program, Program::create(std::move(parts)));
    return Scored{std::move(program), count, std::move(wanted)};
}

/// The first of the largest; a NaN is never larger.
std::uint32_t largest_of(const float* scores, std::uint32_t count) {
    std::uint32_t best = 0;
    for (std::uint32_t i = 1; i < count; ++i)
        if (scores[i] > scores[best] || (std::isnan(scores[best]) && !std::isnan(scores[i])))
            best = i;
    return best;
}

/// Rows of the batch that `runner` has just run whose class it scored highest.
Result<std::uint32_t> correct_rows(Runner& runner, const Scored& scored, const WindowShape& shape,
                                   const Batch& batch) {
    std::uint32_t correct = 0;
    std::size_t row = 0;
    for (std::size_t part = 0; part < scored.parts; ++part) {
        GYM_TRY(const Bytes bytes, runner.output(logits_name(part)));
        std::vector<float> scores(bytes.size() / sizeof(float));
        std::memcpy(scores.data(), bytes.data(), scores.size() * sizeof(float));
        for (std::size_t at = 0; at + shape.classes <= scores.size(); at += shape.classes, ++row) {
            const std::int32_t wanted =
                scored.wanted.empty() ? batch.tokens.at(row * shape.stride + shape.window_tokens)
                                      : scored.wanted.at(row);
            const std::uint32_t chosen = largest_of(scores.data() + at, shape.classes);
            correct += chosen == static_cast<std::uint32_t>(wanted) ? 1 : 0;
        }
    }
    if (row != shape.windows)
        return fail(ErrorCode::kShapeMismatch, "the program does not score every row");
    return correct;
}

/// Whole batches, at least one, of no more windows than there are places for.
Result<std::uint32_t> batch_count(const blob::Dataset& dataset, blob::Split split,
                                  const WindowShape& shape, std::uint32_t windows_max) {
    GYM_TRY(const WindowStarts places,
            window_starts(dataset, split, shape.window_tokens, shape.stride));
    const auto windows =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(windows_max, places.count));
    return std::max(1U, windows / shape.windows);
}

/// docs/PROGRAMS.md, "Evaluation".
Digest evaluation_root(const Evaluation& result, const Digest& parameters_root,
                       const Digest& dataset_root, blob::Split split,
                       const std::vector<float>& losses) {
    commit::Encoder encoder;
    encoder.raw(as_bytes(split == blob::Split::kAll ? "GYMEVALA" : "GYMEVAL1"));
    encoder.fixed(result.program_root).fixed(parameters_root).fixed(dataset_root);
    encoder.u32(result.windows).u32(static_cast<std::uint32_t>(losses.size()));
    for (const float loss : losses)
        encoder.u32(std::bit_cast<std::uint32_t>(loss));
    encoder.u32(std::bit_cast<std::uint32_t>(result.mean_loss));
    encoder.u32(std::bit_cast<std::uint32_t>(result.perplexity));
    return commit::sha256(encoder.view());
}

}  // namespace

Result<Evaluation> evaluate(const Program& train, const State& base, const blob::Dataset& dataset,
                            std::uint32_t windows_max, const EngineOptions& options,
                            const EvaluationProgress& progress, blob::Split split) {
    GYM_TRY(const Program evaluation, program::evaluation_program(train));
    GYM_TRY(const WindowShape shape, window_shape(evaluation));
    GYM_CHECK(check_vocabulary(evaluation, dataset));
    GYM_TRY(State state, parameters_for(evaluation, base));
    const Digest parameters_root = state_root(state, options.threads);
    GYM_TRY(const std::uint32_t batches, batch_count(dataset, split, shape, windows_max));
    const bool classifies = shape.classes != 0;
    Scored scored{evaluation};
    if (classifies) {
        GYM_TRY(scored, with_logits(evaluation));
    }
    GYM_TRY(const auto runner, make_runner(scored.program, std::move(state), options));
    const std::uint32_t total = batches * shape.windows;
    std::vector<float> losses;
    Evaluation result;
    for (std::uint32_t i = 0; i < batches; ++i) {
        GYM_TRY(const Batch batch,
                validation_batch(dataset, i * shape.windows, shape.windows, total,
                                 shape.window_tokens, shape.stride, split));
        GYM_CHECK(check_classes(shape, batch.tokens));
        GYM_TRY(const float loss, loss_of(*runner, batch));
        losses.push_back(loss);
        StepRecord& record = result.records.emplace_back();
        record.step = i;
        record.batch_root = batch.root;
        record.loss_bits = std::bit_cast<std::uint32_t>(loss);
        if (classifies) {
            GYM_TRY(const std::uint32_t correct, correct_rows(*runner, scored, shape, batch));
            result.correct += correct;
        }
        if (progress && !progress((i + 1) * shape.windows, total, loss))
            return fail(ErrorCode::kCancelled, "interrupted after " +
                                                   std::to_string((i + 1) * shape.windows) +
                                                   " of " + std::to_string(total) + " windows");
    }
    const kernels::ExactFloatEnvironment environment;
    const float sum = kernels::exact_sum(losses.data(), batches);
    result.mean_loss = kernels::f32::div(sum, static_cast<float>(batches));
    result.perplexity = kernels::f32::exp(result.mean_loss);
    result.program_root = program::program_root(evaluation);
    result.classifies = classifies;
    result.windows = total;
    result.tokens = std::uint64_t{total} * shape.window_tokens;
    result.root = evaluation_root(result, parameters_root, dataset.root(), split, losses);
    return result;
}

Result<std::uint32_t> evaluation_windows(const Program& train, std::uint32_t batches) {
    GYM_TRY(const Program evaluation, program::evaluation_program(train));
    GYM_TRY(const WindowShape shape, window_shape(evaluation));
    const std::uint64_t windows = std::uint64_t{batches} * shape.windows;
    if (windows == 0 || windows > UINT32_MAX)
        return fail(ErrorCode::kOutOfRange,
                    "an evaluation of " + std::to_string(batches) + " batches");
    return static_cast<std::uint32_t>(windows);
}

}  // namespace gym::engine
