#include "gym/program/recognise.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "gym/program/codec.hpp"

namespace gym::program {
namespace {

TrainConfig small(Architecture architecture) {
    TrainConfig config;
    config.batch = 4;
    config.model.architecture = architecture;
    config.model.vocabulary = 19;
    config.model.context = 7;
    config.model.layers = 2;
    config.model.heads = 4;
    config.model.width = 16;
    return config;
}

void expect_recognised(const TrainConfig& config) {
    const Program train = train_program(config).value();
    for (const Program& program : {train, logits_program(train).value()}) {
        const auto found = recognise_decoder(program);
        ASSERT_TRUE(found.has_value());
        const ModelConfig& m = config.model;
        EXPECT_EQ(found->architecture, m.architecture);
        EXPECT_EQ(found->vocabulary, m.vocabulary);
        EXPECT_EQ(found->context, m.context);
        EXPECT_EQ(found->layers, m.layers);
        EXPECT_EQ(found->heads, m.heads);
        EXPECT_EQ(found->width, m.width);
        EXPECT_EQ(found->tied_embeddings, m.tied_embeddings);
        EXPECT_EQ(found->padding_token, m.padding_token);
        EXPECT_EQ(static_cast<float>(found->layernorm_epsilon),
                  static_cast<float>(m.layernorm_epsilon));
        // The proof: written again, it is the same model.
        EXPECT_EQ(program_root(logits_program(*found, 1).value()),
                  program_root(logits_program(m, 1).value()));
    }
}

TEST(Recognise, AGptOfEveryShape) {
    for (const bool bias : {false, true}) {
        for (const bool tied : {false, true}) {
            for (const std::uint32_t micro_batches : {1U, 2U}) {
                TrainConfig config = small(Architecture::kGpt);
                config.model.bias = bias;
                config.model.tied_embeddings = tied;
                config.micro_batches = micro_batches;
                config.model.mlp_ratio = 3;
                config.model.layernorm_epsilon = 1e-6;
                expect_recognised(config);
            }
        }
    }
}

TEST(Recognise, ALlamaOfEveryShape) {
    for (const double theta : {10'000.0, 500'000.0, 1e6, 12'345.67}) {
        for (const std::uint32_t kv_heads : {0U, 1U, 2U}) {
            TrainConfig config = small(Architecture::kLlama);
            config.model.rope_theta = theta;
            config.model.kv_heads = kv_heads;
            config.model.hidden_width = 24;
            config.model.tied_embeddings = kv_heads == 1;
            expect_recognised(config);
            const auto found = recognise_decoder(train_program(config).value());
            EXPECT_DOUBLE_EQ(found->rope_theta, theta);
        }
    }
}

TEST(Recognise, TheRelativesOfLlama) {
    TrainConfig config = small(Architecture::kLlama);
    config.model.kv_heads = 2;
    config.model.qkv_bias = true;
    config.model.head_width = 6;
    expect_recognised(config);
    config.model.head_width = 0;
    config.model.rope_theta = 500'000;
    config.model.rope_scaling = {RopeScaling::Type::kLlama3, 8, 1, 4, 8192};
    for (const auto type : {RopeScaling::Type::kLlama3, RopeScaling::Type::kLinear}) {
        config.model.rope_scaling.type = type;
        const auto found = recognise_decoder(train_program(config).value());
        ASSERT_TRUE(found.has_value());
        EXPECT_EQ(found->rope_scaling.type, type);
        EXPECT_DOUBLE_EQ(found->rope_scaling.factor, 8);
        EXPECT_DOUBLE_EQ(found->rope_theta, 500'000);
        EXPECT_TRUE(found->qkv_bias);
        EXPECT_EQ(program_root(logits_program(*found, 1).value()),
                  program_root(logits_program(config.model, 1).value()));
    }
}

TEST(Recognise, DropoutOfTraining) {
    TrainConfig config = small(Architecture::kGpt);
    config.model.dropout = 0.25;
    const auto found = recognise_decoder(train_program(config).value());
    ASSERT_TRUE(found.has_value());
    EXPECT_DOUBLE_EQ(found->dropout, 0.25);
}

TEST(Recognise, NothingElse) {
    TrainConfig classifier = small(Architecture::kGpt);
    classifier.model.classes = 3;
    EXPECT_FALSE(recognise_decoder(train_program(classifier).value()));
    TrainConfig mlp = small(Architecture::kMlp);
    mlp.model.classes = 3;
    EXPECT_FALSE(recognise_decoder(train_program(mlp).value()));
    EXPECT_FALSE(recognise_decoder(
        evaluation_program(train_program(small(Architecture::kGpt)).value()).value()));
}

TEST(Recognise, ALlamaWithNormsOnItsHeads) {
    TrainConfig config = small(Architecture::kLlama);
    config.model.qk_norm = true;
    config.model.kv_heads = 2;
    config.model.head_width = 8;
    for (const bool bias : {false, true}) {
        config.model.qkv_bias = bias;
        expect_recognised(config);
        EXPECT_EQ(recognise_decoder(train_program(config).value())->qkv_bias, bias);
    }
}

TrainConfig encoder(Task task) {
    TrainConfig config = small(Architecture::kEncoder);
    config.model.context = 12;
    config.model.task = task;
    config.model.hidden_width = 24;
    config.model.layernorm_epsilon = 1e-12;
    config.model.mask_token = 5;
    config.model.temperature = 0.02;
    if (task == Task::kClassify) config.model.classes = 3;
    if (task == Task::kEmbed) config.model.passages = 2;
    if (task == Task::kRerank) config.model.passages = 3;
    return config;
}

TEST(Recognise, AnEncoderOfEveryTask) {
    for (const Task task : {Task::kMasked, Task::kClassify, Task::kEmbed, Task::kRerank}) {
        for (const Pooling pooling : {Pooling::kFirst, Pooling::kMean}) {
            TrainConfig config = encoder(task);
            config.model.pooling = pooling;
            config.model.tied_embeddings = pooling == Pooling::kFirst;
            config.model.dropout = pooling == Pooling::kMean ? 0.1 : 0;
            config.micro_batches = pooling == Pooling::kMean && task != Task::kEmbed ? 2 : 1;
            const Program train = train_program(config).value();
            for (const Program& program : {train, logits_program(train).value()}) {
                const auto found = recognise_encoder(program);
                ASSERT_TRUE(found.has_value()) << static_cast<int>(task);
                EXPECT_EQ(found->task, task);
                EXPECT_EQ(found->context, config.model.context);
                EXPECT_EQ(program_root(logits_program(*found, 1).value()),
                          program_root(logits_program(config.model, 1).value()));
            }
            EXPECT_FALSE(recognise_decoder(train));
        }
    }
}

TEST(Recognise, ModelsOfPaddedTexts) {
    for (const Architecture architecture : {Architecture::kGpt, Architecture::kLlama}) {
        TrainConfig config = small(architecture);
        config.model.padding_token = 18;
        config.micro_batches = 2;
        expect_recognised(config);
    }
    for (const Task task : {Task::kMasked, Task::kClassify, Task::kEmbed, Task::kRerank}) {
        TrainConfig config = encoder(task);
        config.model.padding_token = 0;
        config.model.pooling = Pooling::kMean;
        const Program train = train_program(config).value();
        EXPECT_EQ(has_labels(train), task != Task::kMasked);
        for (const Program& program : {train, logits_program(train).value()}) {
            const auto found = recognise_encoder(program);
            ASSERT_TRUE(found.has_value()) << static_cast<int>(task);
            EXPECT_EQ(found->padding_token, 0U);
        }
    }
}

TEST(Recognise, NoEncoderInADecoderNorInAnAlteredOne) {
    EXPECT_FALSE(recognise_encoder(train_program(small(Architecture::kGpt)).value()));
    EXPECT_FALSE(recognise_encoder(train_program(small(Architecture::kLlama)).value()));
    ProgramParts parts = logits_program(encoder(Task::kMasked).model, 2).value().parts();
    EXPECT_TRUE(recognise_encoder(Program::create(parts).value()));
    for (Op& op : parts.ops)
        if (op.code == Opcode::kGelu) op.code = Opcode::kSilu;
    const auto other = Program::create(std::move(parts));
    ASSERT_TRUE(other.ok());
    EXPECT_FALSE(recognise_encoder(*other)) << "another activation";
}

/// The first op of this kind in the logits of a Llama, changed.
std::optional<ModelConfig> altered(Opcode code, const std::function<void(Op&)>& change) {
    const Program logits = logits_program(small(Architecture::kLlama).model, 2).value();
    ProgramParts parts = logits.parts();
    for (Op& op : parts.ops) {
        if (op.code != code) continue;
        change(op);
        break;
    }
    return recognise_decoder(Program::create(std::move(parts)).value());
}

TEST(Recognise, NoDecoderWithADifferentOpOrConstant) {
    EXPECT_TRUE(altered(Opcode::kAttention, [](Op&) {}));
    EXPECT_FALSE(altered(Opcode::kAttention, [](Op& op) { op.attributes[2] = 0x3E800000; }))
        << "other scores";
    EXPECT_FALSE(altered(Opcode::kRmsnorm, [](Op& op) { op.attributes[0] = 0x38D1B717; }))
        << "one norm with another epsilon";
    EXPECT_FALSE(altered(Opcode::kAdd, [](Op& op) { op.code = Opcode::kSub; }));
    ProgramParts scaled = logits_program(small(Architecture::kLlama).model, 2).value().parts();
    for (Slot& slot : scaled.slots)
        if (slot.name == "rope.sin") slot.value[9] ^= 1;
    EXPECT_FALSE(recognise_decoder(Program::create(std::move(scaled)).value()))
        << "positions turned by other angles";
}

}  // namespace
}  // namespace gym::program
