#include "gym/interchange/hf_config.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "gym/program/codec.hpp"
#include "gym/program/presets.hpp"

namespace gym::interchange {
namespace {

using program::Architecture;
using program::ModelConfig;
using program::RopeScaling;

constexpr const char* kGpt2 = R"({
  "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
  "bos_token_id": 50256, "embd_pdrop": 0.1, "initializer_range": 0.02,
  "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12,
  "n_layer": 12, "n_positions": 1024, "resid_pdrop": 0.1, "summary_type": "cls_index",
  "vocab_size": 50257})";

constexpr const char* kLlama = R"({
  "architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "hidden_size": 4096,
  "initializer_range": 0.02, "intermediate_size": 11008, "max_position_embeddings": 4096,
  "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32,
  "num_key_value_heads": 32, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": null,
  "tie_word_embeddings": false, "torch_dtype": "float16", "vocab_size": 32000})";

constexpr const char* kLlama3 = R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "head_dim": 64,
  "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 8192,
  "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
  "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8,
  "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "tie_word_embeddings": true,
  "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                   "original_max_position_embeddings": 8192, "rope_type": "llama3"},
  "vocab_size": 32000})";

constexpr const char* kMistral = R"({
  "architectures": ["MistralForCausalLM"], "hidden_act": "silu", "hidden_size": 4096,
  "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mistral",
  "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
  "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 4096,
  "tie_word_embeddings": false, "vocab_size": 32000})";

constexpr const char* kQwen2 = R"({
  "architectures": ["Qwen2ForCausalLM"], "hidden_act": "silu", "hidden_size": 896,
  "intermediate_size": 4864, "max_position_embeddings": 32768, "max_window_layers": 24,
  "model_type": "qwen2", "num_attention_heads": 14, "num_hidden_layers": 24,
  "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
  "sliding_window": 32768, "tie_word_embeddings": true, "use_sliding_window": false,
  "vocab_size": 151936})";

constexpr const char* kQwen3 = R"({
  "architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "head_dim": 128,
  "hidden_act": "silu", "hidden_size": 1024, "initializer_range": 0.02, "intermediate_size": 3072,
  "max_position_embeddings": 40960, "max_window_layers": 28, "model_type": "qwen3",
  "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8,
  "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000, "sliding_window": null,
  "tie_word_embeddings": true, "use_sliding_window": false, "vocab_size": 151936})";

// bert-base-uncased, but for the form of GELU.
constexpr const char* kBert = R"({
  "architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1,
  "gradient_checkpointing": false, "hidden_act": "gelu_new", "hidden_dropout_prob": 0.1,
  "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072,
  "layer_norm_eps": 1e-12, "mask_token_id": 103, "max_position_embeddings": 512,
  "model_type": "bert", "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 0,
  "position_embedding_type": "absolute", "type_vocab_size": 2, "use_cache": true,
  "vocab_size": 30522})";

/// The file's text with some members replaced; null removes none, it is a value.
std::string with(const char* config, const char* members) {
    boost::json::object object = boost::json::parse(config).get_object();
    const boost::json::value changes = boost::json::parse(members);
    for (const auto& [key, value] : changes.get_object())
        object[key] = value;
    return boost::json::serialize(object);
}

std::string error_of(const std::string& text, std::uint32_t context = 0) {
    const auto model = parse_hf_config(text, context);
    return model.ok() ? "no error" : model.error().message;
}

/// All that a program is made of, as its root says it.
Digest root_of(const ModelConfig& model) {
    const auto program = program::logits_program(model, 1);
    GYM_ASSERT(program.ok(), program.ok() ? "" : program.error().message);
    return program::program_root(*program);
}

Digest root_of_preset(const char* name, std::uint32_t context = 0) {
    ModelConfig model = program::preset_config(name)->model;
    if (context != 0) model.context = context;
    return root_of(model);
}

Digest root_of_file(const std::string& text, std::uint32_t context = 0) {
    const auto model = parse_hf_config(text, context);
    GYM_ASSERT(model.ok(), model.ok() ? "" : model.error().message);
    return root_of(*model);
}

TEST(HuggingFaceConfig, OfPublishedModelsGivesTheirPresets) {
    EXPECT_EQ(root_of_file(kGpt2), root_of_preset("gpt2"));
    EXPECT_EQ(root_of_file(kLlama), root_of_preset("llama-7b"));
    EXPECT_EQ(root_of_file(kMistral, 4096), root_of_preset("mistral-7b"));
    EXPECT_EQ(root_of_file(kQwen2, 2048), root_of_preset("qwen2-0.5b"));
    EXPECT_EQ(root_of_file(kQwen3, 2048), root_of_preset("qwen3-0.6b"));
    EXPECT_EQ(root_of_file(kBert), root_of_preset("bert-base"));
    const ModelConfig llama3 = *parse_hf_config(kLlama3, 2048);
    EXPECT_EQ(llama3.rope_scaling, (RopeScaling{RopeScaling::Type::kLlama3, 32, 1, 4, 8192}));
    ModelConfig plain = llama3;
    plain.rope_scaling = {};
    EXPECT_EQ(root_of(plain), root_of_preset("llama-1b"));
}

/// Of an encoder, the settings of training that no config has.
void take_training(const ModelConfig& from, ModelConfig& model) {
    model.passages = from.passages;
    model.context = from.context;
    model.pooling = from.pooling;
    model.temperature = from.temperature;
    model.mask_rate = from.mask_rate;
}

TEST(HuggingFaceConfig, ComesBackAsItWent) {
    for (const program::Preset& preset : program::presets()) {
        ModelConfig model = preset.config.model;
        if (model.architecture == Architecture::kGpt) model.bias = true;  // theirs always have them
        model.context = std::min(model.context, 512U);
        const auto config = hf_config_of(model);
        if (model.architecture == Architecture::kMlp) {
            EXPECT_FALSE(config.ok()) << preset.name;
            continue;
        }
        ASSERT_TRUE(config.ok()) << preset.name << ": " << config.error().message;
        auto again = parse_hf_config(boost::json::serialize(*config));
        ASSERT_TRUE(again.ok()) << preset.name << ": " << again.error().message;
        if (model.architecture == Architecture::kEncoder) take_training(model, *again);
        EXPECT_EQ(root_of(*again), root_of(model)) << preset.name;
    }
}

TEST(HuggingFaceConfig, OfAnEncoderHasTheClassOfItsTask) {
    using program::Task;
    ModelConfig model = program::preset_config("bert-nano")->model;
    const auto config = [&] { return *hf_config_of(model); };
    EXPECT_EQ(config().at("architectures").at(0), "BertForMaskedLM");
    EXPECT_EQ(config().at("max_position_embeddings"), model.context);
    model.task = Task::kClassify;
    model.classes = 3;
    EXPECT_EQ(config().at("architectures").at(0), "BertForSequenceClassification");
    EXPECT_EQ(config().at("id2label").as_object().size(), 3U);
    EXPECT_EQ(parse_hf_config(boost::json::serialize(config()))->classes, 3U);
    model.pooling = program::Pooling::kMean;
    EXPECT_NE(hf_config_of(model).error().message.find("first token"), std::string::npos);
    model.pooling = program::Pooling::kFirst;
    model.task = Task::kRerank;
    model.classes = 0;
    model.passages = 4;
    EXPECT_EQ(config().at("id2label").as_object().size(), 1U);
    EXPECT_EQ(config().at("max_position_embeddings"), model.context / 4);
    EXPECT_EQ(parse_hf_config(boost::json::serialize(config()))->task, Task::kRerank);
    model.task = Task::kEmbed;
    model.passages = 1;
    EXPECT_EQ(config().at("architectures").at(0), "BertModel");
    EXPECT_EQ(config().at("max_position_embeddings"), model.context / 2);
    const auto again = *parse_hf_config(boost::json::serialize(config()));
    EXPECT_EQ(again.task, Task::kEmbed);
    EXPECT_EQ(again.context, model.context);
}

TEST(HuggingFaceConfig, SaysWhichTokenWasPaddingInTraining) {
    for (const char* preset : {"bert-nano", "gpt2", "llama-nano"}) {
        ModelConfig model = program::preset_config(preset)->model;
        model.padding_token = 1;
        const auto config = *hf_config_of(model);
        EXPECT_EQ(config.at("pad_token_id"), 1);
        EXPECT_EQ(parse_hf_config(boost::json::serialize(config))->padding_token, 1U) << preset;
    }
    EXPECT_FALSE(parse_hf_config(with(kBert, R"({"pad_token_id": 0})"))->padding_token)
        << "windows of a text stay windows of a text";
}

TEST(HuggingFaceConfig, OfABertKeepsItsPositions) {
    EXPECT_NE(error_of(kBert, 128).find("max_position_embeddings"), std::string::npos);
    EXPECT_EQ(parse_hf_config(kBert, 512)->context, 512U);
    EXPECT_NE(error_of(with(kBert, R"({"hidden_act": "gelu"})")).find("erf"), std::string::npos);
    EXPECT_NE(error_of(with(kBert, R"({"hidden_act": null})")).find("erf"), std::string::npos)
        << "the default";
    EXPECT_TRUE(parse_hf_config(with(kBert, R"({"architectures": ["BertForPreTraining"]})")).ok());
}

TEST(HuggingFaceConfig, KeepsHeadsAndRotaryScalingOfALlama) {
    ModelConfig model = program::preset_config("llama-nano")->model;
    model.head_width = 10;
    model.hidden_width = 0;
    model.kv_heads = 0;
    model.layernorm_epsilon = double{1e-6F};  // as a program has it
    for (const RopeScaling& scaling :
         {RopeScaling{RopeScaling::Type::kLinear, 2.5},
          RopeScaling{RopeScaling::Type::kLlama3, 8, 0.5, 3, 64}, RopeScaling{}}) {
        model.rope_scaling = scaling;
        const auto config = *hf_config_of(model);
        EXPECT_EQ(config.at("head_dim"), 10);
        EXPECT_EQ(config.at("rms_norm_eps"), 1e-6);
        EXPECT_EQ(root_of_file(boost::json::serialize(config)), root_of(model));
    }
    model.qkv_bias = true;
    EXPECT_EQ(hf_config_of(model)->at("model_type"), "qwen2");
}

TEST(HuggingFaceConfig, UnderstandsTheSpellingOfLaterVersions) {
    const std::string later = with(kLlama3, R"({"rope_theta": null, "rope_scaling": null,
        "rope_parameters": {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 32.0,
                            "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                            "original_max_position_embeddings": 8192}})");
    EXPECT_EQ(root_of_file(later, 512), root_of_file(kLlama3, 512));
    EXPECT_EQ(root_of_file(with(kLlama, R"({"rope_scaling": {"rope_type": "default"}})")),
              root_of_file(kLlama));
    EXPECT_EQ(parse_hf_config(with(kLlama, R"({"rope_scaling": {"type": "linear", "factor": 4}})"))
                  ->rope_scaling.factor,
              4);
}

TEST(HuggingFaceConfig, ShorterContextsAreChosenWhereNothingDependsOnIt) {
    EXPECT_EQ(parse_hf_config(kLlama, 100)->context, 100U);
    EXPECT_NE(error_of(kLlama, 5000).find("max_position_embeddings"), std::string::npos);
    EXPECT_NE(error_of(kGpt2, 100).find("n_positions"), std::string::npos);
    EXPECT_EQ(parse_hf_config(kGpt2, 1024)->context, 1024U);
    EXPECT_NE(error_of(kLlama3).find("choose a shorter context"), std::string::npos);
}

TEST(HuggingFaceConfig, WindowsOfAttentionMustHoldTheContext) {
    EXPECT_NE(error_of(kMistral).find("sliding_window is 4096"), std::string::npos);
    EXPECT_EQ(parse_hf_config(kMistral, 4096)->context, 4096U);
    EXPECT_EQ(parse_hf_config(with(kMistral, R"({"sliding_window": null})"))->context, 32768U);
    const char* windows = R"({"use_sliding_window": true, "sliding_window": 1024,
                              "max_window_layers": 12})";
    EXPECT_NE(error_of(with(kQwen2, windows)).find("at most 1024"), std::string::npos);
    EXPECT_TRUE(parse_hf_config(with(kQwen2, windows), 1024).ok());
    EXPECT_TRUE(parse_hf_config(kQwen2).ok());
}

struct Refused {
    const char* name;
    const char* config;
    const char* members;
    const char* word;
};
class HuggingFaceConfigRefuses : public ::testing::TestWithParam<Refused> {};

TEST_P(HuggingFaceConfigRefuses, WhatAProgramCannotBeByName) {
    const std::string text = with(GetParam().config, GetParam().members);
    const auto model = parse_hf_config(text);
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(model.error().message.find(GetParam().word), std::string::npos)
        << model.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Members, HuggingFaceConfigRefuses,
    ::testing::Values(
        Refused{"type", kLlama, R"({"model_type": "gemma"})", "model_type"},
        Refused{"qwen3_bias", kQwen3, R"({"attention_bias": true})", "attention_bias"},
        Refused{"bert_class", kBert, R"({"architectures": ["BertForQuestionAnswering"]})",
                "BertForSequenceClassification"},
        Refused{"bert_positions", kBert, R"({"position_embedding_type": "relative_key"})",
                "position_embedding_type"},
        Refused{"bert_decoder", kBert, R"({"is_decoder": true})", "is_decoder"},
        Refused{"no_type", kLlama, R"({"model_type": null})", "model_type"},
        Refused{"class_", kLlama, R"({"architectures": ["LlamaForSequenceClassification"]})",
                "LlamaForCausalLM"},
        Refused{"activation", kGpt2, R"({"activation_function": "gelu"})", "gelu_new"},
        Refused{"gate", kLlama, R"({"hidden_act": "gelu"})", "silu"},
        Refused{"attention_bias", kLlama, R"({"attention_bias": true})", "attention_bias"},
        Refused{"mlp_bias", kLlama, R"({"mlp_bias": true})", "mlp_bias"},
        Refused{"scaling", kLlama, R"({"rope_scaling": {"rope_type": "yarn", "factor": 4}})",
                "yarn"},
        Refused{"no_factor", kLlama, R"({"rope_scaling": {"rope_type": "linear"}})", "factor"},
        Refused{"partial", kLlama, R"({"partial_rotary_factor": 0.5})", "partial_rotary_factor"},
        Refused{"attention_scale", kGpt2, R"({"scale_attn_weights": false})", "scale_attn_weights"},
        Refused{"inner", kGpt2, R"({"n_inner": 1000})", "n_inner"},
        Refused{"quantised", kLlama, R"({"quantization_config": {"bits": 4}})",
                "quantization_config"},
        Refused{"tokens", kLlama, R"({"vocab_size": 1048577})", "vocab_size"},
        Refused{"text", kLlama, R"({"hidden_size": "4096"})", "hidden_size"},
        Refused{"negative", kLlama, R"({"num_hidden_layers": -1})", "num_hidden_layers"},
        Refused{"missing", kLlama, R"({"num_hidden_layers": null})", "num_hidden_layers"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(HuggingFaceConfig, MustBeAnObject) {
    EXPECT_EQ(parse_hf_config("[1]").error().code, ErrorCode::kMalformed);
    EXPECT_EQ(parse_hf_config("{").error().code, ErrorCode::kMalformed);
}

TEST(HuggingFaceConfig, IsNotWrittenForOtherModels) {
    ModelConfig classifier = program::preset_config("llama-nano")->model;
    classifier.classes = 3;
    EXPECT_FALSE(hf_config_of(classifier).ok());
    ModelConfig mlp;
    mlp.architecture = Architecture::kMlp;
    EXPECT_FALSE(hf_config_of(mlp).ok());
}

}  // namespace
}  // namespace gym::interchange
