#include <gtest/gtest.h>

#include <functional>

#include "gym/program/cost.hpp"
#include "gym/program/expand.hpp"
#include "gym/program/train_program.hpp"

namespace gym::program {
namespace {

TrainConfig llama_config() {
    TrainConfig config;
    config.batch = 2;
    config.model = {.vocabulary = 11, .context = 4, .layers = 2, .heads = 4, .width = 16};
    config.model.architecture = Architecture::kLlama;
    config.model.kv_heads = 2;
    return config;
}

std::size_t count(const Program& program, Opcode code) {
    std::size_t found = 0;
    for (const Op& op : program.ops())
        found += op.code == code ? 1 : 0;
    return found;
}

TEST(LlamaProgram, HasItsOpsAndParameters) {
    const auto program = train_program(llama_config());
    ASSERT_TRUE(program.ok()) << program.error().message;
    EXPECT_EQ(count(*program, Opcode::kRmsnorm), 5U);
    EXPECT_EQ(count(*program, Opcode::kRmsnormGrad), 5U);
    EXPECT_EQ(count(*program, Opcode::kRope), 4U) << "forward and backward";
    EXPECT_EQ(count(*program, Opcode::kRepeatHeadsGrad), 2U);
    EXPECT_EQ(count(*program, Opcode::kSwigluGrad), 2U);
    EXPECT_EQ(count(*program, Opcode::kLayernorm), 0U);
    // Per block: (4 + 2 + 2) heads of 4, the output, three matrices of the MLP, two norms.
    const std::uint64_t block = 32 * 16 + 16 * 16 + 3 * 64 * 16 + 2 * 16;
    EXPECT_EQ(parameter_count(*program), 11 * 16 + 2 * block + 16);
}

TEST(LlamaProgram, SharesNoHeadsWhereEachHasItsOwn) {
    TrainConfig config = llama_config();
    config.model.kv_heads = 4;
    const auto program = train_program(config);
    ASSERT_TRUE(program.ok());
    EXPECT_EQ(count(*program, Opcode::kRepeatHeads), 0U);
    config.model.kv_heads = 0;
    EXPECT_EQ(*train_program(config), *program);
}

TEST(LlamaProgram, HasBiasesOnQueriesKeysAndValuesAlone) {
    TrainConfig config = llama_config();
    config.model.qkv_bias = true;
    const auto program = train_program(config);
    ASSERT_TRUE(program.ok()) << program.error().message;
    EXPECT_EQ(parameter_count(*program), parameter_count(*train_program(llama_config())) + 2 * 32);
    EXPECT_EQ(program->slot(program->find_slot("blocks.1.attention.qkv.bias")).dims, (Dims{32}));
    EXPECT_EQ(program->find_slot("blocks.1.attention.out.bias"), kNoSlot);
}

TEST(LlamaProgram, HeadsHaveTheirOwnWidthIfTheFileSaysSo) {
    TrainConfig config = llama_config();
    config.model.head_width = 4;  // width / heads
    const auto shared = train_program(config);
    ASSERT_TRUE(shared.ok()) << shared.error().message;
    EXPECT_EQ(*shared, *train_program(llama_config()));
    config.model.head_width = 6;
    config.model.heads = 6;  // does not divide the width
    const auto program = train_program(config);
    ASSERT_TRUE(program.ok()) << program.error().message;
    EXPECT_EQ(program->slot(program->find_slot("blocks.0.attention.qkv.weight")).dims,
              (Dims{60, 16}));
    EXPECT_EQ(program->slot(program->find_slot("blocks.0.attention.out.weight")).dims,
              (Dims{16, 36}));
}

TEST(LlamaProgram, SaysHowItsRotaryFrequenciesAreScaled) {
    TrainConfig config = llama_config();
    EXPECT_EQ(train_program(config)->find_slot(kRopeScaling), kNoSlot);
    config.model.rope_scaling = {.type = RopeScaling::Type::kLinear, .factor = 2};
    EXPECT_EQ(train_program(config)->slot(train_program(config)->find_slot(kRopeScaling)).dims,
              (Dims{2}));
    config.model.rope_scaling.type = RopeScaling::Type::kLlama3;
    config.micro_batches = 2;
    const auto program = train_program(config);
    ASSERT_TRUE(program.ok()) << program.error().message;
    EXPECT_EQ(program->slot(program->find_slot(kRopeScaling)).dims, (Dims{5}));
    EXPECT_EQ(evaluation_program(*program)->find_slot(kRopeScaling), kNoSlot);
}

TEST(LlamaProgram, ExpandsToLegalPrimitives) {
    const auto program = train_program(llama_config());
    const auto out = expand(*program);
    ASSERT_TRUE(out.ok()) << out.error().message;
    EXPECT_EQ(flops_per_step(*out), flops_per_step(*program));
}

TEST(LlamaProgram, DecaysLinearWeightsAlone) {
    TrainConfig config = llama_config();
    config.model.tied_embeddings = false;
    config.model.qkv_bias = true;
    const auto program = train_program(config);
    for (const Op& op : program->ops()) {
        if (op.code != Opcode::kAdamw) continue;
        const std::string& name = program->slot(op.inputs[0]).name;
        const bool linear = name.ends_with(".weight") || name == "head";
        EXPECT_EQ(op.f32(5), linear ? 0.1F : 0.0F) << name;
    }
}

TEST(LlamaProgram, LogitsFromConfigAndFromTrainProgramAgree) {
    const TrainConfig config = llama_config();
    EXPECT_EQ(*logits_program(*train_program(config)), *logits_program(config.model, config.batch));
}

struct BadConfig {
    const char* name;
    const char* message;
    std::function<void(ModelConfig&)> change;
};
class LlamaSetting : public ::testing::TestWithParam<BadConfig> {};

TEST_P(LlamaSetting, OutOfBoundsIsAnErrorThatNamesIt) {
    TrainConfig config = llama_config();
    GetParam().change(config.model);
    const auto program = train_program(config);
    ASSERT_FALSE(program.ok());
    EXPECT_NE(program.error().message.find(GetParam().message), std::string::npos)
        << program.error().message;
}

using M = ModelConfig;
INSTANTIATE_TEST_SUITE_P(
    Bounds, LlamaSetting,
    ::testing::Values(BadConfig{"kv_heads", "multiple of kv_heads", [](M& m) { m.kv_heads = 3; }},
                      BadConfig{"kv_many", "kv_heads", [](M& m) { m.kv_heads = 8; }},
                      BadConfig{"odd_head", "must be even", [](M& m) { m.width = 12; }},
                      BadConfig{"hidden", "hidden_width", [](M& m) { m.hidden_width = 1U << 21; }},
                      BadConfig{"theta", "rope_theta", [](M& m) { m.rope_theta = 0.5; }},
                      BadConfig{"heads", "unless head_width", [](M& m) { m.heads = 3; }},
                      BadConfig{"odd_head_width", "head_width must be even",
                                [](M& m) { m.head_width = 3; }},
                      BadConfig{"wide_head", "head_width", [](M& m) { m.head_width = 4098; }},
                      BadConfig{"wide_heads", "heads * head_width",
                                [](M& m) {
                                    m.width = 65536;
                                    m.heads = 512;
                                    m.head_width = 4096;
                                }},
                      BadConfig{"small_factor", "factor",
                                [](M& m) {
                                    m.rope_scaling.type = RopeScaling::Type::kLinear;
                                    m.rope_scaling.factor = 0.5;
                                }},
                      BadConfig{"frequency_factors", "high_frequency_factor",
                                [](M& m) {
                                    m.rope_scaling.type = RopeScaling::Type::kLlama3;
                                    m.rope_scaling.high_frequency_factor = 1;
                                }},
                      BadConfig{"original_context", "original_context",
                                [](M& m) {
                                    m.rope_scaling.type = RopeScaling::Type::kLlama3;
                                    m.rope_scaling.original_context = 0;
                                }},
                      BadConfig{"one_class", "classes", [](M& m) { m.classes = 1; }}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace gym::program
