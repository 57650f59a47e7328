#include "gym/engine/generate.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "generation_program.hpp"
#include "gym/engine/positions.hpp"
#include "gym/kernels/philox.h"
#include "gym/kernels/programs.h"
#include "gym/program/program.hpp"
#include "gym/program/recognise.hpp"
#include "gym/program/train_program.hpp"
#include "program_shape.hpp"
#include "state_of_program.hpp"

namespace gym::engine {
namespace {

using program::Program;

constexpr std::uint32_t kGenerateTokensMax = 1U << 20;

/// The tokens that may be sampled. @errors kInvalidArgument if there are none.
Result<std::vector<std::int32_t>> permitted_tokens(const Program& program,
                                                   const GenerateOptions& options) {
    std::vector<std::int32_t> all(vocabulary(program));
    std::iota(all.begin(), all.end(), 0);
    if (options.permits) std::erase_if(all, std::not_fn(options.permits));
    if (all.empty())
        return fail(ErrorCode::kInvalidArgument,
                    "the tokenizer has none of the model's tokens: it is another model's");
    return all;
}

/// Picks one of the tokens of `order` from `logits` with the random `word`.
std::int32_t sample(std::span<const float> logits, std::vector<std::int32_t> order,
                    const GenerateOptions& options, std::uint32_t word) {
    // Ties keep the lower token first; a NaN sorts last.
    const auto key = [&](std::int32_t token) {
        const float logit = logits[static_cast<std::size_t>(token)];
        return logit == logit ? logit : -kernels::f32::from_bits(kernels::f32::kInfinityBits);
    };
    std::ranges::stable_sort(order, std::ranges::greater{}, key);
    if (options.temperature <= 0) return order.front();
    if (options.top_k != 0 && options.top_k < order.size()) order.resize(options.top_k);
    const float inverse = kernels::f32::div(1.0f, static_cast<float>(options.temperature));
    const float best = key(order.front());
    std::vector<double> weights;
    double total = 0;
    for (const std::int32_t token : order) {
        weights.push_back(kernels::f32::exp((key(token) - best) * inverse));
        total += weights.back();
    }
    double left = total * word * 0x1p-32;
    for (std::size_t i = 0; i < order.size(); ++i) {
        left -= weights[i];
        if (left < 0) return order[i];
    }
    return order.front();  // all weights NaN, or the rounding of the last subtraction
}

Status check_prompt(const Program& program, std::span<const std::int32_t> prompt,
                    const GenerateOptions& options) {
    if (program::has_labels(program))
        return fail(ErrorCode::kInvalidArgument,
                    "the program classifies rows: there is no text to continue");
    if (program::reads_both_ways(program))
        return fail(ErrorCode::kInvalidArgument,
                    "the program reads its whole window, as encoders do: it continues no text");
    if (prompt.empty()) return fail(ErrorCode::kInvalidArgument, "the prompt is empty");
    if (options.tokens > kGenerateTokensMax)
        return fail(ErrorCode::kOutOfRange, "at most 2^20 tokens");
    if (!(options.temperature >= 0) || !(options.temperature < 1e6))
        return fail(ErrorCode::kInvalidArgument, "temperature must be 0 or more");
    const auto size = static_cast<std::int32_t>(vocabulary(program));
    for (const std::int32_t token : prompt) {
        if (token < 0 || token >= size)
            return fail(ErrorCode::kInvalidArgument, "token " + std::to_string(token) +
                                                         " is outside the vocabulary of " +
                                                         std::to_string(size));
    }
    return {};
}

/// Runs the model on the last tokens of a text.
class NextToken {
  public:
    static Result<NextToken> create(const Program& program, const State& base,
                                    const EngineOptions& options) {
        GYM_TRY(const WindowShape shape, window_shape(program));
        GYM_TRY(State state, parameters_for(program, base));
        GYM_TRY(Engine engine, Engine::create(program, options));
        return NextToken(std::move(engine), std::move(state), shape, vocabulary(program));
    }

    [[nodiscard]] std::uint32_t context() const { return shape_.window_tokens; }

    /// @return those after the last token.
    Result<std::vector<float>> logits(std::span<const std::int32_t> text) {
        const std::size_t length = std::min<std::size_t>(text.size(), shape_.window_tokens);
        return rows(text.last(length), length - 1);
    }

    /// Those after each token of `text` from `first` on.
    Result<std::vector<float>> rows(std::span<const std::int32_t> text, std::size_t first) {
        std::ranges::fill(window_, 0);
        std::ranges::copy(text, window_.begin());
        const NamedTensorView input{program::kBatchInput,
                                    {reinterpret_cast<const std::uint8_t*>(window_.data()),
                                     window_.size() * sizeof(std::int32_t)}};
        GYM_CHECK(engine_.run(state_, {&input, 1}));
        GYM_TRY(const ByteView bytes, engine_.output(program::kLogitsOutput));
        std::vector<float> out((text.size() - first) * vocabulary_);
        std::memcpy(out.data(), bytes.data() + first * vocabulary_ * sizeof(float),
                    out.size() * sizeof(float));
        return out;
    }

  private:
    NextToken(Engine engine, State state, WindowShape shape, std::uint32_t vocabulary)
        : engine_(std::move(engine)),
          state_(std::move(state)),
          shape_(shape),
          vocabulary_(vocabulary),
          window_(std::size_t{shape.windows} * (shape.window_tokens + 1), 0) {}

    Engine engine_;
    State state_;
    WindowShape shape_;
    std::uint32_t vocabulary_;
    std::vector<std::int32_t> window_;
};

}  // namespace

Result<std::vector<float>> logits_of(const Program& train, const State& base,
                                     std::span<const std::int32_t> text,
                                     const EngineOptions& options) {
    GYM_TRY(const Program program, generation_program(train));
    GYM_CHECK(check_prompt(program, text, {.tokens = 0, .seed = {}, .engine = {}}));
    GYM_TRY(NextToken model, NextToken::create(program, base, options));
    if (text.size() > model.context())
        return fail(ErrorCode::kOutOfRange, "the text has " + std::to_string(text.size()) +
                                                " tokens, the model's context is " +
                                                std::to_string(model.context()));
    return model.rows(text, 0);
}

Result<std::vector<std::int32_t>> generate(const Program& train, const State& base,
                                           std::span<const std::int32_t> prompt,
                                           const GenerateOptions& options) {
    GYM_TRY(const Program program, generation_program(train));
    GYM_CHECK(check_prompt(program, prompt, options));
    GYM_TRY(NextToken model, NextToken::create(program, base, options.engine));
    GYM_TRY(const std::vector<std::int32_t> permitted, permitted_tokens(program, options));
    const auto key = kernels::philox_key(options.seed.data.data());
    std::vector<std::int32_t> text(prompt.begin(), prompt.end());
    for (std::uint32_t i = 0; i < options.tokens; ++i) {
        GYM_TRY(const std::vector<float> logits, model.logits(text));
        if (std::ranges::none_of(logits, [](float x) { return std::isfinite(x); }))
            return fail(ErrorCode::kMalformed,
                        "no logit is finite: the state holds NaN or infinities");
        const kernels::RandomPosition position{0, 0, 0, kRandomOpGenerate};
        text.push_back(sample(logits, permitted, options, kernels::random_word(key, position, i)));
    }
    return std::vector<std::int32_t>(text.begin() + static_cast<std::ptrdiff_t>(prompt.size()),
                                     text.end());
}

}  // namespace gym::engine
