#include "gym/engine/evaluate.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "gym/blob/dataset.hpp"
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
        return fail(ErrorCode::kShapeMismatch, "the program's loss is no scalar");
    std::memcpy(&loss, bytes.data(), sizeof loss);
    return loss;
}

/// docs/NUMERICS.md, "Evaluation".
Digest evaluation_root(const Evaluation& result, const Digest& parameters_root,
                       const Digest& dataset_root, const std::vector<float>& losses) {
    commit::Encoder encoder;
    encoder.raw(as_bytes("GYMEVAL1"));
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
                            std::uint32_t windows_max, const EngineOptions& options) {
    GYM_TRY(const Program evaluation, program::evaluation_program(train));
    GYM_TRY(const WindowShape shape, window_shape(evaluation));
    GYM_CHECK(check_vocabulary(evaluation, dataset));
    GYM_TRY(State state, parameters_for(evaluation, base));
    const Digest parameters_root = state_root(state, options.threads);
    GYM_TRY(const auto runner, make_runner(evaluation, std::move(state), options));
    const std::uint32_t batches = std::max(1U, windows_max / shape.windows);
    const std::uint32_t total = batches * shape.windows;
    std::vector<float> losses;
    for (std::uint32_t i = 0; i < batches; ++i) {
        GYM_TRY(const Batch batch, validation_batch(dataset, i * shape.windows, shape.windows,
                                                    total, shape.window_tokens, shape.stride));
        GYM_CHECK(check_classes(shape, batch.tokens));
        GYM_TRY(const float loss, loss_of(*runner, batch));
        losses.push_back(loss);
    }
    const kernels::ExactFloatEnvironment environment;
    const float sum = kernels::exact_sum(losses.data(), batches);
    Evaluation result;
    result.mean_loss = kernels::f32::div(sum, static_cast<float>(batches));
    result.perplexity = kernels::f32::exp(result.mean_loss);
    result.program_root = program::program_root(evaluation);
    result.classifies = shape.classes != 0;
    result.windows = total;
    result.tokens = std::uint64_t{total} * shape.window_tokens;
    result.root = evaluation_root(result, parameters_root, dataset.root(), losses);
    return result;
}

}  // namespace gym::engine
