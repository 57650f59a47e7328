// Weights go to a GPT-2, a Llama and their relatives, and to BERTs in plain PyTorch and come back
// from them: the logits agree with FP32.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <cstring>

#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/engine/engine.hpp"
#include "gym/interchange/hf_config.hpp"
#include "gym/interchange/weights.hpp"
#include "gym/program/train_program.hpp"
#include "python.hpp"

namespace gym::testing {
namespace {

using interchange::SafetensorsEntry;
using program::Program;

program::TrainConfig gpt2_config() {
    program::TrainConfig config;
    config.batch = 1;
    config.model.vocabulary = 50;
    config.model.context = 20;
    config.model.layers = 2;
    config.model.heads = 4;
    config.model.width = 32;
    config.model.bias = true;
    config.model.init_std = 0.1;
    return config;
}

program::TrainConfig llama_config() {
    program::TrainConfig config = gpt2_config();
    config.model.architecture = program::Architecture::kLlama;
    config.model.kv_heads = 2;
    config.model.hidden_width = 56;
    config.model.tied_embeddings = false;
    return config;
}

program::TrainConfig qwen2_config() {
    program::TrainConfig config = llama_config();
    config.model.qkv_bias = true;
    config.model.rope_theta = 1000000;
    config.model.tied_embeddings = true;
    return config;
}

/// Heads wider than their share of the width, and eight rotary frequencies: some of them scaled.
program::TrainConfig llama3_config() {
    program::TrainConfig config = llama_config();
    config.model.head_width = 16;
    config.model.rope_theta = 500000;
    config.model.rope_scaling = {
        .type = program::RopeScaling::Type::kLlama3, .factor = 8, .original_context = 64};
    return config;
}

program::TrainConfig qwen3_config() {
    program::TrainConfig config = llama_config();
    config.model.qk_norm = true;
    config.model.head_width = 16;
    return config;
}

/// Of each task the shortest windows; a mean of passages' vectors has no class of theirs.
program::TrainConfig bert_config(program::Task task) {
    program::TrainConfig config = gpt2_config();
    config.model.bias = false;
    config.model.architecture = program::Architecture::kEncoder;
    config.model.task = task;
    config.model.hidden_width = 48;
    config.model.mask_token = 3;
    if (task == program::Task::kClassify) config.model.classes = 5;
    if (task == program::Task::kEmbed) config.batch = 2;  // the least that it trains on
    if (task == program::Task::kRerank) config.model.passages = 2;
    return config;
}

void write_config(const std::filesystem::path& path, const program::ModelConfig& model) {
    const std::string text = boost::json::serialize(interchange::hf_config_of(model).value());
    ASSERT_TRUE(write_file_atomic(path, as_bytes(text)).ok());
}

void write_weights(const std::filesystem::path& path, const Program& program,
                   const engine::State& state, const std::string& naming) {
    const auto weights = interchange::export_weights(program, state, naming).value();
    std::vector<SafetensorsEntry> entries;
    for (const auto& tensor : weights)
        entries.push_back({tensor.name, "F32", tensor.dims, tensor.bytes});
    const Bytes header = interchange::safetensors_header(entries, {{"format", "pt"}});
    std::vector<ByteView> parts{header};
    for (const SafetensorsEntry& entry : entries)
        parts.push_back(entry.bytes);
    ASSERT_TRUE(write_file_atomic(path, parts, 0644).ok());
}

std::vector<float> floats_of(ByteView bytes) {
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

std::size_t sequence_of(const program::ModelConfig& model) {
    if (model.task == program::Task::kEmbed) return model.context / (model.passages + 1);
    return model.task == program::Task::kRerank ? model.context / model.passages : model.context;
}

/// Of the tokens 0, 1, 2, ..., by the engine; with padding, the last third of each sequence is.
std::vector<float> engine_logits(const program::TrainConfig& config, engine::State base) {
    const Program program = program::logits_program(config.model, 1).value();
    auto engine = engine::Engine::create(program).value();
    std::vector<std::int32_t> window(config.model.context + 1);
    for (std::size_t i = 0; i < window.size(); ++i)
        window[i] = static_cast<std::int32_t>(i % config.model.vocabulary);
    const std::size_t sequence = sequence_of(config.model);
    for (std::size_t i = 0; config.model.padding_token && i < config.model.context; ++i)
        if (i % sequence >= sequence * 2 / 3)
            window[i] = static_cast<std::int32_t>(*config.model.padding_token);
    const engine::NamedTensorView batch{program::kBatchInput,
                                        {reinterpret_cast<const std::uint8_t*>(window.data()),
                                         window.size() * sizeof(std::int32_t)}};
    EXPECT_TRUE(engine.run(base, {&batch, 1}).ok());
    return floats_of(engine.output(program::kLogitsOutput).value());
}

double relative_error(const std::vector<float>& ours, const std::vector<float>& theirs) {
    double error = 0, size = 0;
    for (std::size_t i = 0; i < theirs.size(); ++i) {
        error += std::pow(double{ours[i]} - theirs[i], 2);
        size += std::pow(double{theirs[i]}, 2);
    }
    return std::sqrt(error / size);
}

void expect_equal_logits(const std::string& naming, const program::TrainConfig& config) {
    const Program program = program::train_program(config).value();
    ASSERT_EQ(interchange::naming_of(program), naming);
    const auto state = engine::initial_state(program, commit::sha256(as_bytes("exported"))).value();
    const TemporaryFolder place;
    write_weights(place / "exported", program, state, naming);
    write_config(place / "config.json", config.model);
    const PythonRun peer = run_python(
        GYM_SOURCE, "tests/integration/interchange/transformers_peer.py", {place.path().string()});
    ASSERT_NE(peer.exit_code, kNoTorch) << kTorchRemedy;
    ASSERT_EQ(peer.exit_code, 0) << peer.output;

    const Bytes content = read_file(place / "written").value();
    const auto file = interchange::parse_safetensors(content).value();
    const auto imported = interchange::import_weights(program, file.tensors, naming);
    ASSERT_TRUE(imported.ok()) << imported.error().message;
    const auto theirs_exported = floats_of(read_file(place / "exported.logits").value());
    const auto theirs_written = floats_of(read_file(place / "written.logits").value());
    const auto ours_exported = engine_logits(config, engine::base_of(program, state).value());
    const auto ours_written = engine_logits(config, *imported);
    ASSERT_EQ(theirs_exported.size(), ours_exported.size());
    ASSERT_EQ(theirs_written.size(), ours_written.size());
    EXPECT_LT(relative_error(ours_exported, theirs_exported), 2e-3);
    EXPECT_LT(relative_error(ours_written, theirs_written), 2e-3);
    // The measure tells models apart, also by the two scores of padded passages, which are alike.
    EXPECT_GT(relative_error(ours_exported, theirs_written), 0.05);
}

TEST(TransformersWeights, OfGpt2GiveTheLogitsOfPyTorchBothWays) {
    expect_equal_logits("gpt2", gpt2_config());
}

TEST(TransformersWeights, OfLlamaGiveTheLogitsOfPyTorchBothWays) {
    expect_equal_logits("llama", llama_config());
}

TEST(TransformersWeights, OfQwen2GiveTheLogitsOfPyTorchBothWays) {
    expect_equal_logits("qwen2", qwen2_config());
}

TEST(TransformersWeights, OfScaledLlamaGiveTheLogitsOfPyTorchBothWays) {
    expect_equal_logits("llama", llama3_config());
    program::TrainConfig linear = llama3_config();
    linear.model.rope_scaling = {.type = program::RopeScaling::Type::kLinear, .factor = 2.5};
    expect_equal_logits("llama", linear);
}

TEST(TransformersWeights, OfQwen3GiveTheLogitsOfPyTorchBothWays) {
    expect_equal_logits("qwen3", qwen3_config());
}

TEST(TransformersWeights, OfMaskedBertGiveTheLogitsOfPyTorchBothWays) {
    expect_equal_logits("bert", bert_config(program::Task::kMasked));
    program::TrainConfig untied = bert_config(program::Task::kMasked);
    untied.model.tied_embeddings = false;
    expect_equal_logits("bert", untied);
}

TEST(TransformersWeights, OfBertsThatClassifyGiveTheLogitsOfPyTorchBothWays) {
    expect_equal_logits("bert-classifier", bert_config(program::Task::kClassify));
}

TEST(TransformersWeights, OfBertsThatRankGiveTheScoresOfPyTorchBothWays) {
    expect_equal_logits("bert-classifier", bert_config(program::Task::kRerank));
}

TEST(TransformersWeights, OfBertsGiveTheLogitsThatAnAttentionMaskGivesPaddedTexts) {
    using program::Task;
    for (const auto& [task, naming] : {std::pair{Task::kMasked, "bert"},
                                       {Task::kClassify, "bert-classifier"},
                                       {Task::kRerank, "bert-classifier"},
                                       {Task::kEmbed, "bert-embedding"}}) {
        SCOPED_TRACE(static_cast<int>(task));
        program::TrainConfig config = bert_config(task);
        config.model.padding_token = 0;
        expect_equal_logits(naming, config);
    }
}

TEST(TransformersWeights, OfBertsThatEmbedGiveTheSimilaritiesOfPyTorchBothWays) {
    expect_equal_logits("bert-embedding", bert_config(program::Task::kEmbed));
}

}  // namespace
}  // namespace gym::testing
