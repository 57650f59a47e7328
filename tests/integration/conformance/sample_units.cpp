#include "sample_units.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "gym/commit/sha256.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/train_config_yaml.hpp"
#include "vector_file.hpp"

namespace gym::conformance {
namespace {

constexpr const char* kGpt = R"(model:
  vocabulary: 11
  context: 4
  layers: 1
  heads: 2
  width: 4
  mlp_ratio: 2
  bias: true
  init_std: 0.5
optimizer:
  learning_rate: 0.05
  learning_rate_min: 0.005
  warmup_steps: 2
  total_steps: 6
  inner_warmup_steps: 2
batch: 2
)";

constexpr const char* kGuardedGpt = R"(model:
  vocabulary: 11
  context: 3
  layers: 1
  heads: 1
  width: 4
  mlp_ratio: 1
  init_std: 0.5
optimizer:
  total_steps: 4
  warmup_steps: 4
  inner_warmup_steps: 0
  guard:
    loss_factor: 0
batch: 1
)";

constexpr const char* kLlama = R"(model:
  architecture: llama
  vocabulary: 9
  context: 3
  layers: 1
  heads: 2
  width: 4
  kv_heads: 1
  hidden_width: 5
  rope_theta: 100
  tied_embeddings: false
  dropout: 0.25
  init_std: 0.6
optimizer:
  learning_rate: 3
  learning_rate_min: 0
  warmup_steps: 1
  total_steps: 5
  inner_warmup_steps: 1
  schedule: linear
  decay_embeddings: true
  guard:
    loss_factor: 1.01
    loss_decay: 0.01
batch: 4
micro_batches: 2
)";

constexpr const char* kScaledLlama = R"(model:
  architecture: llama
  vocabulary: 9
  context: 3
  layers: 1
  heads: 2
  width: 4
  kv_heads: 1
  head_width: 4
  hidden_width: 5
  qkv_bias: true
  rope_theta: 100
  rope_scaling:
    type: llama3
    factor: 2.5
    low_frequency_factor: 0.25
    original_context: 20
  init_std: 0.6
optimizer:
  learning_rate: 0.05
  learning_rate_min: 0
  warmup_steps: 1
  total_steps: 5
  decay_biases: true
batch: 2
)";

constexpr const char* kClassifier = R"(model:
  vocabulary: 6
  context: 3
  layers: 1
  heads: 1
  width: 4
  mlp_ratio: 1
  classes: 3
optimizer:
  total_steps: 3
  warmup_steps: 0
batch: 2
)";

constexpr const char* kMlp = R"(model:
  architecture: mlp
  levels: 4
  features: 3
  classes: 3
  layers: 1
  width: 4
  init_std: 0.5
optimizer:
  schedule: constant
  total_steps: 2
  warmup_steps: 1
  decay_biases: true
outer:
  learning_rate: 1
  momentum: 0
batch: 3
)";

/// Deltas in rows of 64, of which the last of each tensor is not full.
constexpr const char* kDense = R"(model:
  architecture: mlp
  levels: 4
  features: 3
  classes: 3
  layers: 1
  width: 24
  init_std: 0.5
optimizer:
  schedule: constant
  total_steps: 2
  warmup_steps: 1
compression: dense-4bit
batch: 3
)";

constexpr const char* kMasked = R"(model:
  architecture: bert
  vocabulary: 9
  context: 5
  layers: 1
  heads: 2
  width: 4
  hidden_width: 5
  mask_rate: 0.4
  mask_token: 3
  dropout: 0.25
  init_std: 0.6
optimizer:
  learning_rate: 0.05
  warmup_steps: 1
  total_steps: 5
batch: 4
micro_batches: 2
)";

constexpr const char* kEmbed = R"(model:
  architecture: bert
  task: embed
  vocabulary: 9
  context: 6
  passages: 2
  layers: 1
  heads: 1
  width: 4
  hidden_width: 5
  temperature: 0.25
  pooling: mean
  init_std: 0.6
optimizer:
  learning_rate: 0.05
  warmup_steps: 1
  total_steps: 5
batch: 3
)";

constexpr const char* kRerank = R"(model:
  architecture: bert
  task: rerank
  vocabulary: 9
  context: 6
  passages: 3
  layers: 1
  heads: 2
  width: 4
  hidden_width: 5
  init_std: 0.6
optimizer:
  learning_rate: 0.05
  warmup_steps: 1
  total_steps: 5
  decay_biases: true
batch: 2
)";

constexpr const char* kNormedHeads = R"(model:
  architecture: llama
  vocabulary: 9
  context: 3
  layers: 1
  heads: 2
  width: 4
  kv_heads: 1
  head_width: 4
  hidden_width: 5
  qk_norm: true
  init_std: 0.6
optimizer:
  learning_rate: 0.05
  warmup_steps: 1
  total_steps: 5
batch: 2
)";

constexpr const char* kDocuments = R"(model:
  vocabulary: 9
  context: 6
  layers: 1
  heads: 2
  width: 4
  mlp_ratio: 1
  document_separator: 4
  init_std: 0.6
optimizer:
  learning_rate: 0.05
  warmup_steps: 1
  total_steps: 5
batch: 4
micro_batches: 2
)";

blob::Dataset tokens_below(std::uint32_t vocabulary, std::size_t count, std::uint64_t seed) {
    Pattern pattern(seed);
    std::vector<std::uint16_t> tokens;
    for (std::size_t i = 0; i < count; ++i)
        tokens.push_back(static_cast<std::uint16_t>(pattern.word() % vocabulary));
    return blob::Dataset::from_tokens(std::move(tokens), vocabulary).value();
}

SampleUnit make(const std::string& name, const char* yaml, const blob::Dataset& dataset,
                const engine::UnitSpec& shape,
                const std::vector<SampleUnit::Override>& overrides = {}) {
    const auto config = program::parse_train_config(yaml, name);
    EXPECT_TRUE(config.ok()) << (config.ok() ? "" : config.error().message);
    program::Program program = program::train_program(config.value()).value();
    engine::UnitSpec spec = shape;
    spec.job_seed = commit::sha256(as_bytes("a seed"));
    engine::State state = engine::initial_state(program, spec.job_seed).value();
    engine::State base = engine::base_of(program, state).value();
    for (const SampleUnit::Override& change : overrides)
        std::memcpy(base.tensors[change.tensor].bytes.data() + 4 * change.element, &change.bits, 4);
    spec.program_root = program::program_root(program);
    spec.dataset_root = dataset.root();
    spec.base_state_root = engine::state_root(base);
    return {name, yaml, std::move(program), dataset, std::move(base), overrides, spec};
}

}  // namespace

std::vector<SampleUnit> sample_units() {
    constexpr std::uint32_t kLargest = 0x7F7FFFFF;
    const blob::Dataset text = tokens_below(11, 60, 1);
    std::vector<SampleUnit> out;
    out.push_back(make("gpt.0", kGpt, text, {{}, 2, 0, 3, 2, {}, {}, {}}));
    out.push_back(make("gpt.1", kGpt, text, {{}, 2, 1, 3, 2, {}, {}, {}}));
    out.push_back(make("llama", kLlama, tokens_below(9, 50, 2), {{}, 1, 7, 4, 3, {}, {}, {}}));
    // Rows of three tokens and a class, which is a token below 3.
    out.push_back(
        make("classifier", kClassifier, tokens_below(3, 83, 3), {{}, 1, 0, 2, 1, {}, {}, {}}));
    out.push_back(make("mlp", kMlp, tokens_below(3, 83, 4), {{}, 3, 2, 2, 5, {}, {}, {}}));
    out.push_back(
        make("skipped", kGuardedGpt, text, {{}, 1, 0, 3, 1, {}, {}, {}}, {{0, 20, kLargest}}));
    out.push_back(
        make("llama3", kScaledLlama, tokens_below(9, 50, 5), {{}, 0, 1, 3, 2, {}, {}, {}}));
    out.push_back(make("masked", kMasked, tokens_below(9, 80, 6), {{}, 1, 2, 3, 2, {}, {}, {}}));
    // Rows of a query and two passages, of three passages: the last token is one of so many.
    out.push_back(make("embed", kEmbed, tokens_below(6, 140, 7), {{}, 1, 0, 2, 1, {}, {}, {}}));
    out.push_back(make("rerank", kRerank, tokens_below(3, 140, 8), {{}, 1, 0, 2, 1, {}, {}, {}}));
    out.push_back(
        make("qwen3", kNormedHeads, tokens_below(9, 50, 9), {{}, 0, 1, 2, 2, {}, {}, {}}));
    out.push_back(
        make("documents", kDocuments, tokens_below(9, 80, 10), {{}, 0, 1, 2, 2, {}, {}, {}}));
    out.push_back(make("dense.0", kDense, tokens_below(3, 83, 4), {{}, 3, 0, 2, 5, {}, {}, {}}));
    out.push_back(make("dense.1", kDense, tokens_below(3, 83, 4), {{}, 3, 1, 2, 5, {}, {}, {}}));
    return out;
}

SampleResult run(const SampleUnit& sample) {
    SampleResult out;
    engine::RunOptions options;
    options.trace_step = sample.spec.steps - 1;
    options.trace = [&](const engine::TraceEntry& entry) {
        const auto leaves = commit::chunk_leaves(entry.output);
        out.chunks.insert(out.chunks.end(), leaves.begin(), leaves.end());
    };
    auto result = engine::run_unit(sample.unit(), options);
    EXPECT_TRUE(result.ok()) << sample.name << ": " << (result.ok() ? "" : result.error().message);
    out.unit = std::move(result).value();
    return out;
}

}  // namespace gym::conformance
