#include "gym/program/train_config_yaml.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "gym/program/builder.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"

namespace gym::program {
namespace {

std::string example(const std::string& name) {
    return std::string(std::getenv("GYM_SOURCE_DIR")) + "/examples/" + name;
}

Program program_of(const std::string& name) {
    const auto config = load_train_config(example(name));
    GYM_ASSERT(config.ok(), config.ok() ? "" : config.error().message);
    auto program = train_program(*config);
    GYM_ASSERT(program.ok(), program.ok() ? "" : program.error().message);
    return *std::move(program);
}

std::uint64_t tokens_per_step(const Program& program) {
    const Dims& batch = program.slot(program.find_slot(kBatchInput)).dims;
    return std::uint64_t{batch[0]} * (batch[1] - 1);
}

/// The number before " parameters" in the first lines of an example, "49,320" for one.
std::uint64_t parameters_in_header(const std::string& name) {
    std::ifstream file(example(name));
    std::string header;
    for (std::string line; std::getline(file, line) && line.starts_with('#');)
        header += line;
    const std::size_t end = header.find(" parameters");
    if (end == std::string::npos) return 0;
    std::string number = header.substr(header.rfind(' ', end - 1) + 1);
    std::erase(number, ',');
    return std::strtoull(number.c_str(), nullptr, 10);
}

TEST(Examples, HeadersSayHowManyParametersThereAre) {
    for (const char* name : {"classifier-nano.yaml", "gpt-demo.yaml", "gpt-nano.yaml",
                             "gpt-tiny.yaml", "llama-nano.yaml", "mlp-nano.yaml", "bert-nano.yaml",
                             "embedding-nano.yaml", "reranker-nano.yaml"})
        EXPECT_EQ(parameters_in_header(name), parameter_count(program_of(name))) << name;
}

TEST(TrainConfigYaml, BoundsInErrorsAreThoseOfTheSetting) {
    const auto error_of = [](const char* setting) {
        const std::string model = std::string("model: {vocabulary: 256, context: 16, heads: 2, ") +
                                  "width: 16, " + setting + "}\nbatch: 2\n";
        return parse_train_config(model, "x").error().message;
    };
    EXPECT_NE(error_of("layers: 1000").find("'layers' must be between 1 and 256, is 1000"),
              std::string::npos);
    EXPECT_NE(error_of("layers: 1, mlp_ratio: 65").find("between 1 and 64"), std::string::npos);
    const auto batch = parse_train_config(
        "model: {vocabulary: 256, context: 16, layers: 1, heads: 2, width: 16}\nbatch: 70000\n",
        "x");
    EXPECT_NE(batch.error().message.find("'batch' must be between 1 and 65536"), std::string::npos);
    const auto rate = parse_train_config(
        "model: {vocabulary: 256, context: 16, layers: 1, heads: 2, width: 16}\nbatch: 2\n"
        "optimizer: {learning_rate: 1000}\n",
        "x");
    ASSERT_TRUE(rate.ok());
    EXPECT_NE(train_program(*rate).error().message.find("at most 100"), std::string::npos);
}

TEST(Examples, NanoIsSmallEnoughForScalarKernels) {
    const Program nano = program_of("gpt-nano.yaml");
    EXPECT_LE(parameter_count(nano), 100000U);
    EXPECT_EQ(tokens_per_step(nano), 256U);
}

TEST(Examples, TinyAndDemoHaveTheirSizes) {
    const Program tiny = program_of("gpt-tiny.yaml");
    EXPECT_GE(parameter_count(tiny), 200000U);
    EXPECT_LE(parameter_count(tiny), 500000U);
    const Program demo = program_of("gpt-demo.yaml");
    EXPECT_GE(parameter_count(demo), 900000U);
    EXPECT_LE(parameter_count(demo), 1100000U);
    EXPECT_EQ(tokens_per_step(demo), 1024U);
}

TEST(Examples, LlamaNanoIsSmallEnoughForScalarKernels) {
    const Program nano = program_of("llama-nano.yaml");
    EXPECT_LE(parameter_count(nano), 100000U);
    EXPECT_EQ(tokens_per_step(nano), 256U);
    EXPECT_NE(nano.find_slot("rope.cos"), kNoSlot);
    EXPECT_EQ(nano.slot(nano.find_slot("blocks.0.attention.qkv.weight")).dims, (Dims{96, 48}));
}

TEST(Examples, ClassifiersAreSmall) {
    const Program mlp = program_of("mlp-nano.yaml");
    EXPECT_LE(parameter_count(mlp), 4000U);
    EXPECT_EQ(mlp.slot(mlp.find_output(kLogitsOutput)).dims, (Dims{32, 4}));
    const Program classifier = program_of("classifier-nano.yaml");
    EXPECT_LE(parameter_count(classifier), 100000U);
    EXPECT_EQ(classifier.slot(classifier.find_output(kLogitsOutput)).dims, (Dims{8, 4}));
    EXPECT_NE(classifier.find_slot(kRandomInput), kNoSlot);
    EXPECT_NE(classifier.find_output(kSkippedOutput), kNoSlot);
}

TEST(ModelFile, ReadsWhatTrainingCanDo) {
    const auto config = parse_train_config(
        "batch: 4\nmicro_batches: 2\n"
        "model: {vocabulary: 256, context: 8, layers: 1, heads: 1, width: 4, dropout: 0.25}\n"
        "optimizer: {schedule: linear, decay_embeddings: true, decay_norms: true, "
        "decay_biases: true, guard: {loss_factor: 3, loss_decay: 0.5}}\n",
        "test");
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(config->micro_batches, 2U);
    EXPECT_EQ(config->model.dropout, 0.25);
    EXPECT_EQ(config->optimizer.schedule, Schedule::kLinear);
    EXPECT_TRUE(config->optimizer.decay_embeddings && config->optimizer.decay_norms &&
                config->optimizer.decay_biases);
    EXPECT_TRUE(config->optimizer.guard.enabled);
    EXPECT_EQ(config->optimizer.guard.loss_factor, 3);
    EXPECT_EQ(config->optimizer.guard.loss_decay, 0.5);
    EXPECT_FALSE(OptimizerConfig{}.guard.enabled);
}

TEST(ModelFile, KnowsTheKeysOfEachArchitecture) {
    const std::string llama =
        "batch: 2\nmodel: {architecture: llama, vocabulary: 256, context: 8, layers: 1, heads: 2, "
        "width: 8";
    const auto config = parse_train_config(
        llama + ", kv_heads: 1, hidden_width: 20, rope_theta: 500, rmsnorm_epsilon: 0.5}\n", "t");
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(config->model.architecture, Architecture::kLlama);
    EXPECT_EQ(config->model.kv_heads, 1U);
    EXPECT_EQ(config->model.hidden_width, 20U);
    EXPECT_EQ(config->model.rope_theta, 500);
    EXPECT_EQ(config->model.layernorm_epsilon, 0.5);
    const auto foreign = parse_train_config(llama + ", mlp_ratio: 4}\n", "t");
    ASSERT_FALSE(foreign.ok());
    EXPECT_NE(foreign.error().message.find("mlp_ratio"), std::string::npos);
    const auto unknown = parse_train_config("batch: 2\nmodel: {architecture: rnn}\n", "t");
    ASSERT_FALSE(unknown.ok());
    EXPECT_NE(unknown.error().message.find("llama"), std::string::npos) << "names the choices";
}

TEST(ModelFile, ReadsWhichTokenIsPaddingAndWritesItAgain) {
    for (const char* architecture : {"gpt2", "llama", "bert"}) {
        const std::string model = std::string("batch: 2\nmodel: {architecture: ") + architecture +
                                  ", vocabulary: 256, context: 8, layers: 1, heads: 2, width: 8";
        const auto without = parse_train_config(model + "}\n", "t");
        ASSERT_TRUE(without.ok()) << without.error().message;
        EXPECT_FALSE(without->model.padding_token);
        EXPECT_EQ(train_config_text(*without).find("padding_token"), std::string::npos);
        const auto config = parse_train_config(model + ", padding_token: 0}\n", "t");
        ASSERT_TRUE(config.ok()) << config.error().message;
        EXPECT_EQ(config->model.padding_token, 0U);
        const auto again = parse_train_config(train_config_text(*config), "t");
        ASSERT_TRUE(again.ok()) << again.error().message;
        EXPECT_EQ(again->model.padding_token, 0U);
        EXPECT_FALSE(parse_train_config(model + ", padding_token: -1}\n", "t").ok());
    }
}

TEST(ModelFile, ReadsTheSeparatorOfDocuments) {
    for (const char* architecture : {"gpt2", "llama"}) {
        const std::string model = std::string("batch: 2\nmodel: {architecture: ") + architecture +
                                  ", vocabulary: 256, context: 8, layers: 1, heads: 2, width: 8";
        const auto without = parse_train_config(model + "}\n", "t");
        ASSERT_TRUE(without.ok()) << without.error().message;
        EXPECT_FALSE(without->model.document_separator);
        EXPECT_EQ(train_config_text(*without).find("document_separator"), std::string::npos);
        const auto config = parse_train_config(model + ", document_separator: 0}\n", "t");
        ASSERT_TRUE(config.ok()) << config.error().message;
        EXPECT_EQ(config->model.document_separator, 0U);
        const auto again = parse_train_config(train_config_text(*config), "t");
        ASSERT_TRUE(again.ok()) << again.error().message;
        EXPECT_EQ(again->model.document_separator, 0U);
        EXPECT_NE(program_root(train_program(*again).value()),
                  program_root(train_program(*without).value()));
        EXPECT_FALSE(parse_train_config(model + ", document_separator: -1}\n", "t").ok());
        EXPECT_FALSE(parse_train_config(model + ", document_separator: end}\n", "t").ok());
    }
    EXPECT_FALSE(parse_train_config("batch: 2\nmodel: {architecture: mlp, levels: 4, features: 3, "
                                    "classes: 2, width: 4, document_separator: 1}\n",
                                    "t")
                     .ok());
}

TEST(ModelFile, ReadsRotaryScalingAndHeadsOfALlama) {
    const std::string llama =
        "batch: 2\nmodel: {architecture: llama, vocabulary: 256, context: 8, layers: 1, heads: 2, "
        "width: 8";
    const auto config = parse_train_config(
        llama +
            ", head_width: 6, qkv_bias: true, rope_scaling: {type: llama3, factor: 32, "
            "low_frequency_factor: 2, high_frequency_factor: 5, original_context: 64}}\n",
        "t");
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(config->model.head_width, 6U);
    EXPECT_TRUE(config->model.qkv_bias);
    EXPECT_EQ(config->model.rope_scaling, (RopeScaling{RopeScaling::Type::kLlama3, 32, 2, 5, 64}));
    const auto error_of = [&](const char* scaling) {
        const auto bad = parse_train_config(llama + ", rope_scaling: {" + scaling + "}}\n", "t");
        return bad.ok() ? std::string() : bad.error().message;
    };
    EXPECT_NE(error_of("type: yarn").find("llama3"), std::string::npos);
    EXPECT_NE(error_of("factor: 2").find("type"), std::string::npos);
    EXPECT_NE(error_of("type: linear, original_context: 5").find("original_context"),
              std::string::npos);
    EXPECT_NE(error_of("type: none, factor: 2").find("factor"), std::string::npos);
}

const std::string kModel =
    "batch: 2\nmodel: {vocabulary: 256, context: 8, layers: 1, heads: 1, width: 4}\n";

TEST(ModelFile, FillsInDefaults) {
    const auto config = parse_train_config(kModel, "test");
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(config->batch, 2U);
    EXPECT_EQ(config->model.mlp_ratio, ModelConfig{}.mlp_ratio);
    EXPECT_EQ(config->optimizer.learning_rate, OptimizerConfig{}.learning_rate);
    EXPECT_EQ(config->outer.momentum, OuterConfig{}.momentum);
}

TEST(ModelFile, ReadsEverySection) {
    const auto config =
        parse_train_config(kModel +
                               "optimizer: {learning_rate: 0.5, total_steps: 7, warmup_steps: 3}\n"
                               "outer: {momentum: 0.25}\n",
                           "test");
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(config->optimizer.learning_rate, 0.5);
    EXPECT_EQ(config->optimizer.total_steps, 7U);
    EXPECT_EQ(config->outer.momentum, 0.25);
}

TEST(ModelFile, ReadsHowDeltasAreCompressed) {
    const auto plain = parse_train_config(kModel, "test").value();
    EXPECT_EQ(plain.compression, DeltaCodec::kFloat);
    EXPECT_EQ(parse_train_config(kModel + "compression: none\n", "test")->compression,
              DeltaCodec::kFloat);
    const auto dense = parse_train_config(kModel + "compression: dense-4bit\n", "test").value();
    EXPECT_EQ(dense.compression, DeltaCodec::kDense);
    EXPECT_EQ(parse_train_config(train_config_text(dense), "text")->compression,
              DeltaCodec::kDense);
    EXPECT_EQ(train_config_text(plain).find("compression"), std::string::npos);
    const auto other = parse_train_config(kModel + "compression: zip\n", "test");
    EXPECT_NE(other.error().message.find("dense-4bit"), std::string::npos);

    const Program program = train_program(dense).value();
    EXPECT_EQ(delta_codec(program).value(), DeltaCodec::kDense);
    EXPECT_EQ(delta_codec(train_program(plain).value()).value(), DeltaCodec::kFloat);
    EXPECT_NE(program_root(program), program_root(train_program(plain).value()));
}

TEST(ModelFile, ReadsHowTheUpdateIsPublished) {
    const std::string compressed = kModel + "compression: dense-4bit\n";
    const auto plain = parse_train_config(compressed, "test").value();
    EXPECT_EQ(plain.update, UpdateCodec::kNone);
    EXPECT_EQ(parse_train_config(compressed + "update: none\n", "test")->update,
              UpdateCodec::kNone);
    const auto packed = parse_train_config(compressed + "update: dense-4bit\n", "test").value();
    EXPECT_EQ(packed.update, UpdateCodec::kDense);
    EXPECT_EQ(parse_train_config(train_config_text(packed), "text")->update, UpdateCodec::kDense);
    EXPECT_EQ(train_config_text(plain).find("update"), std::string::npos);
    const auto other = parse_train_config(compressed + "update: zip\n", "test");
    EXPECT_NE(other.error().message.find("dense-4bit"), std::string::npos);

    const Program program = train_program(packed).value();
    EXPECT_EQ(update_codec(program).value(), UpdateCodec::kDense);
    EXPECT_EQ(delta_codec(program).value(), DeltaCodec::kDense);
    EXPECT_EQ(update_codec(train_program(plain).value()).value(), UpdateCodec::kNone);
    EXPECT_NE(program_root(program), program_root(train_program(plain).value()));

    const auto alone = parse_train_config(kModel + "update: dense-4bit\n", "test").value();
    const auto refused = train_program(alone);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("needs compression: dense-4bit"), std::string::npos)
        << refused.error().message;
}

TEST(ModelFile, AnUpdateCodecThatNobodyKnowsIsRefused) {
    const auto codec_of = [](float update, bool has_deltas) {
        Builder b;
        const SlotId x = b.param("x", {1}, {Init::Kind::kConstant, 0});
        b.constant(std::string(kUpdateCodec), {1}, {update});
        if (has_deltas) b.constant(std::string(kDeltaCodec), {1}, {1});
        b.set_next(x, b.add(x, x));
        return update_codec(b.build().value());
    };
    EXPECT_EQ(codec_of(1, true).value(), UpdateCodec::kDense);
    for (const float number : {0.0F, 2.0F, 1.5F}) {
        const auto codec = codec_of(number, true);
        ASSERT_FALSE(codec.ok()) << number;
        EXPECT_NE(codec.error().message.find("update.codec"), std::string::npos);
    }
    const auto alone = codec_of(1, false);
    ASSERT_FALSE(alone.ok());
    EXPECT_NE(alone.error().message.find("delta.codec"), std::string::npos);
}

TEST(ModelFile, ACodecThatNobodyKnowsIsRefused) {
    for (const float number : {0.0F, 2.0F, 1.5F}) {
        Builder b;
        const SlotId x = b.param("x", {1}, {Init::Kind::kConstant, 0});
        b.constant(std::string(kDeltaCodec), {1}, {number});
        b.set_next(x, b.add(x, x));
        const auto codec = delta_codec(b.build().value());
        ASSERT_FALSE(codec.ok()) << number;
        EXPECT_NE(codec.error().message.find("delta.codec"), std::string::npos);
    }
}

TEST(ModelFile, NamesTheBadKey) {
    const auto message = [](const std::string& text) {
        const auto config = parse_train_config(text, "test");
        return config.ok() ? std::string() : config.error().message;
    };
    EXPECT_NE(message(kModel + "colour: red\n").find("colour"), std::string::npos);
    EXPECT_NE(message(kModel + "optimizer: {momentun: 1}\n").find("momentun"), std::string::npos);
    EXPECT_NE(message(kModel + "outer: {momentum: fast}\n").find("momentum"), std::string::npos);
    EXPECT_NE(message("batch: 0" + kModel.substr(8)).find("batch"), std::string::npos);
    EXPECT_NE(message("batch: 2\n").find("model"), std::string::npos);
    EXPECT_NE(message("batch: 2\nmodel: {vocabulary: 256}\n").find("context"), std::string::npos);
    EXPECT_NE(message("[1, 2").size(), 0U);
}

}  // namespace
}  // namespace gym::program
