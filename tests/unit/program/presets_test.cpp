#include "gym/program/presets.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_config_yaml.hpp"

namespace gym::program {
namespace {

std::string source_path(const std::string& path) {
    return std::string(std::getenv("GYM_SOURCE_DIR")) + "/" + path;
}

Digest root_of(const TrainConfig& config) {
    const auto program = train_program(config);
    GYM_ASSERT(program.ok(), program.ok() ? "" : program.error().message);
    return program_root(*program);
}

std::uint64_t parameters_of(const char* name) {
    return parameter_count(*train_program(*preset_config(name)));
}

TEST(Presets, HaveNamesThatNoModelFileHas) {
    std::set<std::string_view> names;
    for (const Preset& preset : presets()) {
        EXPECT_TRUE(names.insert(preset.name).second) << preset.name << " twice";
        EXPECT_EQ(preset.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-."),
                  std::string_view::npos)
            << preset.name;
        EXPECT_FALSE(preset.name.ends_with(".yaml")) << preset.name;
        EXPECT_EQ(find_preset(preset.name), &preset);
        EXPECT_FALSE(preset.summary.empty() || preset.source.empty()) << preset.name;
        EXPECT_TRUE(preset.published_vocabulary == 0 ||
                    preset.published_vocabulary > preset.config.model.vocabulary);
    }
    EXPECT_EQ(find_preset("gpt3"), nullptr);
    EXPECT_EQ(preset_config("gpt3").error().code, ErrorCode::kNotFound);
    EXPECT_NE(preset_config("gpt3").error().message.find("llama-160m"), std::string::npos);
}

// Published counts; those with fewer tokens than published were counted by hand.
TEST(Presets, HaveAsManyParametersAsPublished) {
    EXPECT_EQ(parameters_of("gpt2"), 124439808U);
    EXPECT_EQ(parameters_of("gpt2-medium"), 354823168U);
    EXPECT_EQ(parameters_of("gpt2-large"), 774030080U);
    EXPECT_EQ(parameters_of("gpt2-xl"), 1557611200U);
    EXPECT_EQ(parameters_of("llama-160m"), 162417408U);
    EXPECT_EQ(parameters_of("llama-1b"), 1235814400U - (128256U - 32000U) * 2048U);
    EXPECT_EQ(parameters_of("tinyllama-1.1b"), 1100048384U);
    EXPECT_EQ(parameters_of("llama-7b"), 6738415616U);
    EXPECT_EQ(parameters_of("llama3-1b"), 1235814400U);
    EXPECT_EQ(parameters_of("llama3-8b"), 8030261248U);
    EXPECT_EQ(parameters_of("mistral-7b"), 7241732096U);
    EXPECT_EQ(parameters_of("qwen2-0.5b"), 494032768U);
    EXPECT_EQ(parameters_of("qwen3-0.6b"), 596049920U);
    // Without the embeddings of token types, which are added to the positions.
    EXPECT_EQ(parameters_of("bert-base"), 109514298U - 2U * 768U);
    // Nor with a pooler, which these embeddings do not use.
    EXPECT_EQ(parameters_of("bge-small"), 33360000U - 2U * 384U - (384U * 384U + 384U));
    // Nor with a bias on the score, which changes no order.
    EXPECT_EQ(parameters_of("minilm-reranker"), 22713601U - 2U * 384U - 1U);
}

TEST(Presets, OfExamplesAreTheExamples) {
    for (const char* name : {"gpt-nano", "llama-nano", "gpt-tiny", "gpt-demo", "bert-nano"}) {
        const auto example =
            load_train_config(source_path("examples/" + std::string(name) + ".yaml"));
        ASSERT_TRUE(example.ok()) << example.error().message;
        EXPECT_EQ(root_of(*preset_config(name)), root_of(*example)) << name;
    }
}

// tests/vectors/preset_roots.txt: job files name presets, so an entry never changes.
TEST(Presets, KeepTheirCommittedPrograms) {
    std::map<std::string, std::string> now, committed;
    for (const Preset& preset : presets())
        now[std::string(preset.name)] = root_of(preset.config).hex();
    std::ifstream file(source_path("tests/vectors/preset_roots.txt"));
    for (std::string name, root; file >> name >> root;)
        committed[name] = root;
    EXPECT_EQ(now, committed);
}

TEST(Presets, AsFilesSayWhatTheyAreAndReadAsThemselves) {
    const auto text = preset_text("llama-1b");
    ASSERT_TRUE(text.ok()) << text.error().message;
    EXPECT_TRUE(text->starts_with("# Llama 3.2 1B")) << *text;
    EXPECT_NE(text->find("128256"), std::string::npos) << "the published vocabulary";
    EXPECT_EQ(root_of(*parse_train_config(*text, "text")), root_of(*preset_config("llama-1b")));
    EXPECT_EQ(preset_text("qwen3").error().code, ErrorCode::kNotFound);
}

TEST(Presets, ReadAsTheyAreWritten) {
    for (const Preset& preset : presets()) {
        const std::string text = train_config_text(preset.config);
        const auto again = parse_train_config(text, "text");
        ASSERT_TRUE(again.ok()) << preset.name << ": " << again.error().message;
        EXPECT_EQ(train_config_text(*again), text);
        EXPECT_EQ(again->model.context, preset.config.model.context);
    }
    // One program tells whether every number comes back.
    const TrainConfig config = *preset_config("gpt-demo");
    EXPECT_EQ(root_of(*parse_train_config(train_config_text(config), "text")), root_of(config));
}

TEST(ModelFileText, HoldsEveryKeyOfEveryArchitecture) {
    const std::string text =
        "batch: 6\nmicro_batches: 3\nmodel:\n  architecture: llama\n  init_std: 0.3\n"
        "  vocabulary: 99\n  context: 7\n  layers: 2\n  heads: 3\n  width: 12\n  classes: 5\n"
        "  tied_embeddings: false\n  dropout: 0.25\n  kv_heads: 1\n  hidden_width: 21\n"
        "  head_width: 6\n  qkv_bias: true\n  rope_theta: 1.0e+06\n  rmsnorm_epsilon: 1.0e-06\n"
        "  rope_scaling:\n    type: llama3\n    factor: 8\n    low_frequency_factor: 0.5\n"
        "    high_frequency_factor: 3\n    original_context: 64\noptimizer:\n"
        "  learning_rate: 0.5\n  learning_rate_min: 0.25\n  schedule: linear\n  warmup_steps: 3\n"
        "  total_steps: 7\n  inner_warmup_steps: 2\n  beta1: 0.5\n  beta2: 0.75\n  epsilon: 0.125\n"
        "  weight_decay: 0.5\n  decay_embeddings: true\n  decay_norms: true\n  decay_biases: true\n"
        "  clip_norm: 2\n  guard:\n    loss_factor: 3\n    loss_decay: 0.5\nouter:\n"
        "  learning_rate: 0.5\n  momentum: 0.25\n";
    const auto config = parse_train_config(text, "text");
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(train_config_text(*config), text);
    const std::string mlp =
        "batch: 1\nmodel: {architecture: mlp, levels: 4, features: 3, classes: 2, layers: 0, "
        "width: 5}\n";
    const TrainConfig rows = *parse_train_config(mlp, "text");
    EXPECT_EQ(root_of(*parse_train_config(train_config_text(rows), "text")), root_of(rows));
}

TEST(ModelFile, TakesAPresetInThreePlaces) {
    const Digest root = root_of(*preset_config("llama-nano"));
    for (const char* text :
         {"preset: llama-nano\n", "model: llama-nano\n", "model: {preset: llama-nano}\n"}) {
        const auto config = parse_train_config(text, "text");
        ASSERT_TRUE(config.ok()) << text << config.error().message;
        EXPECT_EQ(root_of(*config), root) << text;
    }
    EXPECT_EQ(root_of(*load_train_config("llama-nano")), root);
}

TEST(ModelFile, OverridesSingleKeysOfAPreset) {
    const auto config = parse_train_config(
        "preset: llama-nano\nbatch: 2\nmodel: {context: 16, dropout: 0.5}\n"
        "optimizer: {total_steps: 9, warmup_steps: 1}\n",
        "text");
    ASSERT_TRUE(config.ok()) << config.error().message;
    TrainConfig expected = *preset_config("llama-nano");
    expected.batch = 2;
    expected.model.context = 16;
    expected.model.dropout = 0.5;
    expected.optimizer.total_steps = 9;
    expected.optimizer.warmup_steps = 1;
    EXPECT_EQ(root_of(*config), root_of(expected));
    EXPECT_NE(root_of(*config), root_of(*preset_config("llama-nano")));
}

TEST(ModelFile, RefusesPresetsThatItCannotFollow) {
    const auto message = [](const std::string& text) {
        const auto config = parse_train_config(text, "text");
        return config.ok() ? std::string() : config.error().message;
    };
    EXPECT_NE(message("preset: gpt-nan\n").find("gpt-nano"), std::string::npos);
    EXPECT_NE(message("model: gpt-nan\n").find("gpt-nano"), std::string::npos);
    EXPECT_NE(message("preset: gpt-nano\nmodel: gpt-tiny\n").find("second preset"),
              std::string::npos);
    EXPECT_NE(message("model: {preset: gpt-nano, architecture: llama}\n").find("gpt2"),
              std::string::npos);
    EXPECT_NE(message("model: {preset: gpt-nano, kv_heads: 1}\n").find("kv_heads"),
              std::string::npos);
    EXPECT_NE(load_train_config("gpt-nan").error().message.find("gpt-nano"), std::string::npos);
    EXPECT_NE(message("model: [gpt-nano]\n").find("mapping"), std::string::npos);
}

}  // namespace
}  // namespace gym::program
