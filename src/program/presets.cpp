#include "gym/program/presets.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "gym/common/near_words.hpp"

namespace gym::program {
namespace {

constexpr std::uint32_t kGpt2Vocabulary = 50257;
constexpr std::uint32_t kLlama2Vocabulary = 32000;
constexpr std::uint32_t kLlama3Vocabulary = 128256;
constexpr std::uint32_t kQwenVocabulary = 151936;  // with the rows that pad it

struct Shape {
    std::uint32_t layers, heads, width;
};

ModelConfig gpt(std::uint32_t vocabulary, std::uint32_t context, const Shape& shape) {
    ModelConfig model;
    model.vocabulary = vocabulary;
    model.context = context;
    model.layers = shape.layers;
    model.heads = shape.heads;
    model.width = shape.width;
    return model;
}

ModelConfig gpt2(const Shape& shape) {
    ModelConfig model = gpt(kGpt2Vocabulary, 1024, shape);
    model.bias = true;
    return model;
}

struct Grouped {
    std::uint32_t kv_heads, hidden_width;
};

ModelConfig llama(std::uint32_t vocabulary, std::uint32_t context, const Shape& shape,
                  const Grouped& grouped) {
    ModelConfig model = gpt(vocabulary, context, shape);
    model.architecture = Architecture::kLlama;
    model.kv_heads = grouped.kv_heads;
    model.hidden_width = grouped.hidden_width;
    return model;
}

struct Rates {
    double peak, last;
};

/// Of the examples, which train for some hundred steps on bytes.
OptimizerConfig small_optimizer(const Rates& rates, std::uint32_t steps) {
    OptimizerConfig optimizer;
    optimizer.learning_rate = rates.peak;
    optimizer.learning_rate_min = rates.last;
    optimizer.total_steps = steps;
    return optimizer;
}

/// A pretraining: a long schedule down to a tenth of the peak, and a guard against spikes.
OptimizerConfig large_optimizer(const Rates& rates) {
    OptimizerConfig optimizer;
    optimizer.learning_rate = rates.peak;
    optimizer.learning_rate_min = rates.last;
    optimizer.warmup_steps = 2000;
    optimizer.total_steps = 100000;
    optimizer.guard.enabled = true;
    return optimizer;
}

TrainConfig training(const ModelConfig& model, const OptimizerConfig& optimizer,
                     std::uint32_t batch) {
    TrainConfig config;
    config.model = model;
    config.optimizer = optimizer;
    config.batch = batch;
    return config;
}

void add_small(std::vector<Preset>& out) {
    const auto bytes = [](ModelConfig model) {
        model.init_std = 0.05;
        return model;
    };
    out.push_back(
        {"gpt-nano", "the smallest GPT, over bytes", "examples/gpt-nano.yaml",
         training(bytes(gpt(256, 64, {2, 3, 48})), small_optimizer({4e-3, 4e-4}, 500), 4)});
    out.push_back({"llama-nano", "the smallest Llama, over bytes", "examples/llama-nano.yaml",
                   training(bytes(llama(256, 64, {2, 4, 48}, {2, 128})),
                            small_optimizer({4e-3, 4e-4}, 500), 4)});
    out.push_back(
        {"gpt-tiny", "a small GPT over bytes", "examples/gpt-tiny.yaml",
         training(bytes(gpt(256, 128, {3, 4, 96})), small_optimizer({3e-3, 3e-4}, 1000), 8)});
    OptimizerConfig demo = small_optimizer({3e-3, 6e-4}, 400);
    demo.warmup_steps = 10;
    out.push_back({"gpt-demo", "the GPT over bytes of `make demo`", "examples/gpt-demo.yaml",
                   training(bytes(gpt(256, 128, {5, 4, 128})), demo, 8)});
}

void add_gpt2(std::vector<Preset>& out) {
    out.push_back({"gpt2", "GPT-2, 124 M", "Radford et al. 2019; openai-community/gpt2",
                   training(gpt2({12, 12, 768}), large_optimizer({6e-4, 6e-5}), 8)});
    out.push_back({"gpt2-medium", "GPT-2, 355 M",
                   "Radford et al. 2019; openai-community/gpt2-medium",
                   training(gpt2({24, 16, 1024}), large_optimizer({3e-4, 3e-5}), 8)});
    out.push_back({"gpt2-large", "GPT-2, 774 M", "Radford et al. 2019; openai-community/gpt2-large",
                   training(gpt2({36, 20, 1280}), large_optimizer({2.5e-4, 2.5e-5}), 4)});
    out.push_back({"gpt2-xl", "GPT-2, 1.6 B", "Radford et al. 2019; openai-community/gpt2-xl",
                   training(gpt2({48, 25, 1600}), large_optimizer({2e-4, 2e-5}), 4)});
}

void add_llama(std::vector<Preset>& out) {
    ModelConfig small = llama(kLlama2Vocabulary, 2048, {12, 12, 768}, {12, 3072});
    small.tied_embeddings = false;
    small.layernorm_epsilon = 1e-6;
    out.push_back({"llama-160m", "a small Llama with Llama 2's tokens",
                   "Miao et al. 2023; JackFram/llama-160m",
                   training(small, large_optimizer({6e-4, 6e-5}), 4)});

    ModelConfig one = llama(kLlama2Vocabulary, 2048, {16, 32, 2048}, {8, 8192});
    one.rope_theta = 500000;
    out.push_back({"llama-1b", "Llama 3.2 1B with Llama 2's tokens",
                   "Llama 3.2 model card; meta-llama/Llama-3.2-1B",
                   training(one, large_optimizer({3e-4, 3e-5}), 4), 128256});

    ModelConfig tiny = llama(kLlama2Vocabulary, 2048, {22, 32, 2048}, {4, 5632});
    tiny.tied_embeddings = false;
    out.push_back({"tinyllama-1.1b", "TinyLlama",
                   "Zhang et al. 2024; TinyLlama/TinyLlama-1.1B-intermediate-step-1431k-3T",
                   training(tiny, large_optimizer({4e-4, 4e-5}), 4)});

    ModelConfig seven = llama(kLlama2Vocabulary, 4096, {32, 32, 4096}, {32, 11008});
    seven.tied_embeddings = false;
    out.push_back({"llama-7b", "Llama 2 7B", "Touvron et al. 2023; meta-llama/Llama-2-7b-hf",
                   training(seven, large_optimizer({3e-4, 3e-5}), 1)});
}

void add_llama3(std::vector<Preset>& out) {
    ModelConfig nano = llama(kLlama3Vocabulary, 64, {2, 4, 48}, {2, 128});
    nano.init_std = 0.05;
    out.push_back({"llama3-nano", "the smallest Llama with Llama 3's tokens",
                   "examples/llama-nano.yaml",
                   training(nano, small_optimizer({4e-3, 4e-4}, 500), 4)});

    ModelConfig one = llama(kLlama3Vocabulary, 2048, {16, 32, 2048}, {8, 8192});
    one.rope_theta = 500000;
    out.push_back({"llama3-1b", "Llama 3.2 1B within 2,048 tokens",
                   "Llama 3.2 model card; meta-llama/Llama-3.2-1B",
                   training(one, large_optimizer({3e-4, 3e-5}), 4)});

    ModelConfig eight = llama(kLlama3Vocabulary, 4096, {32, 32, 4096}, {8, 14336});
    eight.rope_theta = 500000;
    eight.tied_embeddings = false;
    out.push_back({"llama3-8b", "Llama 3 8B within 4,096 tokens",
                   "Grattafiori et al. 2024; meta-llama/Meta-Llama-3-8B",
                   training(eight, large_optimizer({3e-4, 3e-5}), 1)});
}

void add_relatives(std::vector<Preset>& out) {
    ModelConfig mistral = llama(kLlama2Vocabulary, 4096, {32, 32, 4096}, {8, 14336});
    mistral.tied_embeddings = false;
    out.push_back({"mistral-7b", "Mistral 7B within its window of 4,096 tokens",
                   "Jiang et al. 2023; mistralai/Mistral-7B-v0.1",
                   training(mistral, large_optimizer({3e-4, 3e-5}), 1)});

    ModelConfig qwen = llama(kQwenVocabulary, 2048, {24, 14, 896}, {2, 4864});
    qwen.qkv_bias = true;
    qwen.rope_theta = 1000000;
    qwen.layernorm_epsilon = 1e-6;
    out.push_back({"qwen2-0.5b", "Qwen2 0.5B within 2,048 tokens",
                   "Yang et al. 2024, table 1; Qwen/Qwen2-0.5B",
                   training(qwen, large_optimizer({4e-4, 4e-5}), 1)});

    ModelConfig qwen3 = llama(kQwenVocabulary, 2048, {28, 16, 1024}, {8, 3072});
    qwen3.qk_norm = true;
    qwen3.head_width = 128;
    qwen3.rope_theta = 1000000;
    qwen3.layernorm_epsilon = 1e-6;
    out.push_back({"qwen3-0.6b", "Qwen3 0.6B within 2,048 tokens",
                   "Yang et al. 2025, table 1; Qwen/Qwen3-0.6B",
                   training(qwen3, large_optimizer({4e-4, 4e-5}), 1)});
}

ModelConfig encoder(std::uint32_t vocabulary, std::uint32_t context, const Shape& shape,
                    Task task) {
    ModelConfig model = gpt(vocabulary, context, shape);
    model.architecture = Architecture::kEncoder;
    model.task = task;
    return model;
}

/// As BERT's uncased English models, which have 30,522 tokens; [MASK] is number 103.
ModelConfig bert(std::uint32_t context, const Shape& shape, Task task) {
    constexpr std::uint32_t kVocabulary = 30522, kMask = 103;
    ModelConfig model = encoder(kVocabulary, context, shape, task);
    model.layernorm_epsilon = 1e-12;
    model.mask_token = kMask;
    model.dropout = 0.1;
    return model;
}

void add_encoders(std::vector<Preset>& out) {
    constexpr std::uint32_t kBytesAndMask = 257, kTokens = 512;
    ModelConfig nano = encoder(kBytesAndMask, 64, {2, 4, 48}, Task::kMasked);
    nano.init_std = 0.05;
    nano.mask_token = kBytesAndMask - 1;
    out.push_back({"bert-nano", "the smallest encoder, over bytes, with masked tokens",
                   "examples/bert-nano.yaml",
                   training(nano, small_optimizer({4e-3, 4e-4}, 500), 8)});
    out.push_back(
        {"bert-mini", "BERT mini, 11 M, with masked tokens",
         "Turc et al. 2019; google/bert_uncased_L-4_H-256_A-4",
         training(bert(kTokens, {4, 4, 256}, Task::kMasked), large_optimizer({5e-4, 5e-5}), 16)});
    out.push_back(
        {"bert-base", "BERT base, 110 M, with masked tokens",
         "Devlin et al. 2019; google-bert/bert-base-uncased",
         training(bert(kTokens, {12, 12, 768}, Task::kMasked), large_optimizer({1e-4, 1e-5}), 8)});

    // Of a row: a query and the passage that answers it.
    ModelConfig bge = bert(2 * kTokens, {12, 12, 384}, Task::kEmbed);
    bge.temperature = 0.02;
    out.push_back({"bge-small", "embeddings: a query is near to its passage",
                   "Xiao et al. 2023; BAAI/bge-small-en-v1.5",
                   training(bge, large_optimizer({2e-4, 2e-5}), 8)});
    constexpr std::uint32_t kPassages = 4;
    ModelConfig minilm = bert(kPassages * kTokens, {6, 12, 384}, Task::kRerank);
    minilm.passages = kPassages;
    out.push_back({"minilm-reranker", "a reranker: scores of a query's passages",
                   "Wang et al. 2020; cross-encoder/ms-marco-MiniLM-L6-v2",
                   training(minilm, large_optimizer({1e-4, 1e-5}), 4)});
}

void add_classifiers(std::vector<Preset>& out) {
    ModelConfig mlp;
    mlp.architecture = Architecture::kMlp;
    mlp.context = 784;
    mlp.classes = 10;
    mlp.layers = 2;
    mlp.width = 256;
    mlp.init_std = 0.05;
    out.push_back({"mlp-mnist", "a classifier of images of 28 x 28 bytes", "LeCun et al. 1998",
                   training(mlp, small_optimizer({1e-3, 1e-4}, 5000), 64)});
}

std::vector<Preset> make_presets() {
    std::vector<Preset> out;
    add_small(out);
    add_gpt2(out);
    add_llama(out);
    add_llama3(out);
    add_relatives(out);
    add_encoders(out);
    add_classifiers(out);
    return out;
}

}  // namespace

std::span<const Preset> presets() {
    static const std::vector<Preset> all = make_presets();
    return all;
}

const Preset* find_preset(std::string_view name) {
    const auto found = std::ranges::find(presets(), name, &Preset::name);
    return found == presets().end() ? nullptr : &*found;
}

namespace {

/// "; did you mean gpt2? There are gpt-nano, ..."
std::string preset_advice(std::string_view name) {
    constexpr std::size_t kNearMax = 3;
    std::vector<std::string_view> known;
    known.reserve(presets().size());
    std::string names, near;
    for (const Preset& preset : presets()) {
        known.push_back(preset.name);
        names += (names.empty() ? "" : ", ") + std::string(preset.name);
    }
    for (const std::string_view one : near_words(name, known, kNearMax))
        near += (near.empty() ? "; did you mean " : " or ") + std::string(one);
    return near + (near.empty() ? "; there are " : "? There are ") + names;
}

}  // namespace

Result<TrainConfig> preset_config(std::string_view name) {
    if (const Preset* preset = find_preset(name)) return preset->config;
    return fail(ErrorCode::kNotFound,
                "there is no preset '" + std::string(name) + "'" + preset_advice(name));
}

Error with_presets(Error error, std::string_view name) {
    if (error.code != ErrorCode::kNotFound || find_preset(name) != nullptr) return error;
    const bool is_path = name.find('/') != std::string_view::npos || name.ends_with(".yaml") ||
                         name.ends_with(".yml");
    if (is_path) {
        error.message += "; there is no such preset, either (`gym model list`)";
        return error;
    }
    error.message =
        "'" + std::string(name) + "' is neither a preset nor a file" + preset_advice(name);
    return error;
}

}  // namespace gym::program
