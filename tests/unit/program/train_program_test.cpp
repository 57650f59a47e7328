#include "gym/program/train_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numbers>

#include "gym/program/aggregate_parts.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/presets.hpp"

namespace gym::program {
namespace {

TrainConfig small_config() {
    TrainConfig config;
    config.batch = 2;
    config.model = {.vocabulary = 11, .context = 4, .layers = 2, .heads = 2, .width = 8};
    config.optimizer.total_steps = 40;
    config.optimizer.warmup_steps = 10;
    return config;
}

std::vector<float> constant_of(const Program& program, std::string_view name) {
    const Slot& slot = program.slot(program.find_slot(name));
    std::vector<float> values(slot.value.size() / 4);
    std::memcpy(values.data(), slot.value.data(), slot.value.size());
    return values;
}

TEST(TrainProgram, HasTheDocumentedInputsAndOutputs) {
    const auto program = train_program(small_config());
    ASSERT_TRUE(program.ok()) << program.error().message;
    const Slot& batch = program->slot(program->find_slot(kBatchInput));
    EXPECT_EQ(batch.dims, (Dims{2, 5}));
    EXPECT_EQ(batch.dtype, DType::kI32);
    EXPECT_EQ(program->slot(program->find_slot(kClockInput)).dims, (Dims{2}));
    EXPECT_EQ(program->slots_of(SlotKind::kInput).size(), 2U);
    EXPECT_EQ(program->slot(program->find_output(kLossOutput)).dims, (Dims{1}));
    EXPECT_EQ(element_count(program->slot(program->find_output(kGradNormOutput)).dims), 1U);
    EXPECT_EQ(program->slot(program->find_output(kLogitsOutput)).dims, (Dims{8, 11}));
    for (const SlotId id : program->slots_of(SlotKind::kParam)) {
        const Slot& param = program->slot(id);
        const SlotId gradient = program->find_output(std::string(kGradientPrefix) + param.name);
        ASSERT_NE(gradient, kNoSlot) << param.name;
        EXPECT_EQ(program->slot(gradient).dims, param.dims) << param.name;
        EXPECT_NE(param.next, id) << param.name << " is never trained";
        EXPECT_NE(program->find_slot("m." + param.name), kNoSlot);
        EXPECT_NE(program->find_slot("v." + param.name), kNoSlot);
    }
}

std::size_t ops_of(const Program& program, Opcode code) {
    return static_cast<std::size_t>(std::ranges::count(program.ops(), code, &Op::code));
}

TEST(TrainProgram, KeepsDocumentsApartOnlyWithASeparator) {
    TrainConfig config = small_config();
    const Program together = train_program(config).value();
    EXPECT_EQ(ops_of(together, Opcode::kAttention), 2U);
    EXPECT_EQ(together.find_slot("is_separator"), kNoSlot);
    config.model.document_separator = 3;
    const Program apart = train_program(config).value();
    EXPECT_EQ(ops_of(apart, Opcode::kAttention), 0U);
    EXPECT_EQ(ops_of(apart, Opcode::kAttentionDocuments), 2U);
    EXPECT_EQ(ops_of(apart, Opcode::kAttentionDocumentsGrad), 2U);
    EXPECT_EQ(constant_of(apart, "is_separator"),
              (std::vector<float>{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}));
    for (const Program& program :
         {evaluation_program(apart).value(), logits_program(apart).value()})
        EXPECT_EQ(ops_of(program, Opcode::kAttentionDocuments), 2U);
    EXPECT_EQ(parameter_count(apart), parameter_count(together));
}

TEST(TrainProgram, SaysWhereASeparatorMakesNoSense) {
    const auto refusal = [](const std::function<void(ModelConfig&)>& change) {
        TrainConfig config = small_config();
        config.model.document_separator = 3;
        change(config.model);
        const auto program = train_program(config);
        return program.ok() ? std::string() : program.error().message;
    };
    EXPECT_EQ(refusal([](ModelConfig&) {}), "");
    EXPECT_EQ(refusal([](ModelConfig& m) { m.padding_token = 2; }), "");
    EXPECT_NE(refusal([](ModelConfig& m) { m.padding_token = 3; }).find("two tokens"),
              std::string::npos);
    EXPECT_NE(refusal([](ModelConfig& m) { m.document_separator = 11; }).find("below vocabulary"),
              std::string::npos);
    EXPECT_NE(refusal([](ModelConfig& m) { m.classes = 2; }).find("one document"),
              std::string::npos);
    EXPECT_NE(refusal([](ModelConfig& m) {
                  m.architecture = Architecture::kEncoder;
              }).find("padding_token"),
              std::string::npos);
}

TEST(TrainProgram, DecaysLinearWeightsAlone) {
    TrainConfig config = small_config();
    config.model.tied_embeddings = false;
    config.model.bias = true;
    const auto program = train_program(config);
    ASSERT_TRUE(program.ok());
    for (const Op& op : program->ops()) {
        if (op.code != Opcode::kAdamw) continue;
        const std::string& name = program->slot(op.inputs[0]).name;
        const bool linear = name.ends_with(".weight") || name == "head";
        EXPECT_EQ(op.f32(5), linear ? 0.1F : 0.0F) << name;
    }
}

TEST(TrainProgram, IsTheSameEveryTime) {
    EXPECT_EQ(*train_program(small_config()), *train_program(small_config()));
}

TEST(Schedule, WarmsUpAndFollowsTheCosine) {
    const TrainConfig config = small_config();
    const std::vector<float> table = constant_of(*train_program(config), "schedule");
    ASSERT_EQ(table.size(), 41U);
    for (std::size_t step = 0; step < 10; ++step)
        EXPECT_FLOAT_EQ(table[step], 1e-3F * static_cast<float>(step + 1) / 10.0F);
    for (std::size_t step = 10; step <= 40; ++step) {
        const double turn = static_cast<double>(step - 10) / 30.0;
        const double want = 1e-4 + 9e-4 * 0.5 * (1 + std::cos(std::numbers::pi * turn));
        EXPECT_NEAR(table[step], want, 1e-10);
    }
    EXPECT_EQ(table.back(), 1e-4F);
    const std::vector<float> inner = constant_of(*train_program(config), "inner_warmup");
    EXPECT_EQ(inner, (std::vector<float>{0.2F, 0.4F, 0.6F, 0.8F, 1.0F, 1.0F}));
}

TEST(Schedule, ManagesTheEdges) {
    TrainConfig config = small_config();
    config.optimizer.warmup_steps = config.optimizer.total_steps = 1;
    config.optimizer.inner_warmup_steps = 0;
    const auto program = train_program(config);
    EXPECT_EQ(constant_of(*program, "schedule"), (std::vector<float>{1e-3F, 1e-4F}));
    EXPECT_EQ(constant_of(*program, "inner_warmup"), (std::vector<float>{1.0F}));
}

TEST(EvaluationProgram, IsTheForwardPartAlone) {
    const auto train = train_program(small_config());
    const auto evaluation = evaluation_program(*train);
    ASSERT_TRUE(evaluation.ok()) << evaluation.error().message;
    EXPECT_EQ(evaluation->outputs().size(), 1U);
    EXPECT_NE(evaluation->find_output(kLossOutput), kNoSlot);
    EXPECT_EQ(evaluation->find_slot(kClockInput), kNoSlot);
    EXPECT_TRUE(evaluation->slots_of(SlotKind::kState).empty());
    EXPECT_EQ(evaluation->slots_of(SlotKind::kParam).size(),
              train->slots_of(SlotKind::kParam).size());
    for (const SlotId id : evaluation->slots_of(SlotKind::kParam))
        EXPECT_EQ(evaluation->slot(id).next, id);
    for (const Op& op : evaluation->ops())
        EXPECT_FALSE(to_string(op.code).ends_with("_grad") || op.code == Opcode::kAdamw);
}

TEST(LogitsProgram, FromConfigAndFromTrainProgramAgree) {
    const TrainConfig config = small_config();
    const auto cut = logits_program(*train_program(config));
    const auto built = logits_program(config.model, config.batch);
    ASSERT_TRUE(cut.ok() && built.ok());
    EXPECT_EQ(*cut, *built);
    EXPECT_EQ(logits_program(config.model, 1)->slot(0).dims, (Dims{1, 5}));
    EXPECT_FALSE(logits_program(config.model, 0).ok());
}

TEST(AggregateProgram, StacksDeltasAndCarriesMomentum) {
    const auto train = train_program(small_config());
    const auto aggregate = aggregate_program(*train, 3);
    ASSERT_TRUE(aggregate.ok()) << aggregate.error().message;
    const auto params = train->slots_of(SlotKind::kParam);
    ASSERT_EQ(aggregate->slots_of(SlotKind::kParam).size(), params.size());
    ASSERT_EQ(aggregate->slots_of(SlotKind::kState).size(), params.size());
    for (const SlotId id : params) {
        const Slot& param = train->slot(id);
        const Slot& delta =
            aggregate->slot(aggregate->find_slot(std::string(kDeltaPrefix) + param.name));
        Dims stacked{3};
        stacked.insert(stacked.end(), param.dims.begin(), param.dims.end());
        EXPECT_EQ(delta.dims, stacked);
        EXPECT_NE(aggregate->find_slot(std::string(kMomentumPrefix) + param.name), kNoSlot);
    }
    EXPECT_EQ(constant_of(*aggregate, kOuterLearningRate), (std::vector<float>{0.7F}));
    EXPECT_EQ(constant_of(*aggregate, kOuterMomentum), (std::vector<float>{0.9F}));
}

TEST(AggregateProgram, WeighsHeldDeltasHalf) {
    const auto train = train_program(small_config());
    const auto plain = aggregate_program(*train, 3);
    const auto held = aggregate_program(*train, 3, 1);
    ASSERT_TRUE(held.ok()) << held.error().message;
    EXPECT_EQ(constant_of(*held, "outer.weights"), (std::vector<float>{2, 2, 1}));
    EXPECT_NE(*held, *plain);
    EXPECT_EQ(*aggregate_program(*train, 3, 3), *plain) << "alone they are as good as others";
    EXPECT_EQ(*aggregate_program(*train, 3, 0), *plain);
}

/// 100 deltas of the embedding of llama-7b are 13,107,200,000 elements.
TEST(AggregateProgram, TakesParametersInPartsWhereTheirDeltasAreTooLarge) {
    const Preset& preset = *find_preset("llama-7b");
    const auto train = train_program(preset.config);
    ASSERT_TRUE(train.ok()) << train.error().message;
    for (const std::uint32_t deltas : {1U, 16U, 17U, 100U, 630U}) {
        const auto aggregate = aggregate_program(*train, deltas);
        ASSERT_TRUE(aggregate.ok()) << aggregate.error().message;
        std::uint64_t elements = 0;
        for (const Slot& slot : aggregate->slots()) {
            ASSERT_LE(element_count(slot.dims), kSlotElementsMax);
            if (slot.kind == SlotKind::kInput) elements += element_count(slot.dims);
        }
        EXPECT_EQ(elements, deltas * parameter_count(*train));
        const auto parts = aggregate_parts(*train, deltas, kSlotElementsMax);
        const auto params = train->slots_of(SlotKind::kParam);
        EXPECT_EQ(parts.size() == params.size(), deltas <= 16) << deltas;
        // One after another, none twice and none left out.
        std::uint64_t next = 0;
        std::uint32_t parameter = 0;
        for (const AggregatePart& part : parts) {
            if (part.parameter != parameter) {
                EXPECT_EQ(next, element_count(train->slot(params[parameter]).dims));
                EXPECT_EQ(part.parameter, ++parameter);
                next = 0;
            }
            EXPECT_EQ(part.first, next);
            next += element_count(part.dims);
        }
        EXPECT_EQ(next, element_count(train->slot(params[parameter]).dims));
        EXPECT_EQ(parameter + 1, params.size());
    }
}

TEST(AggregateProgram, RefusesWhatCannotBeAggregated) {
    const auto train = train_program(small_config());
    EXPECT_FALSE(aggregate_program(*train, 0).ok());
    EXPECT_FALSE(aggregate_program(*train, kDeltasMax + 1).ok());
    EXPECT_FALSE(aggregate_program(*train, 2, 3).ok());
    EXPECT_FALSE(aggregate_program(*evaluation_program(*train), 2).ok());
    EXPECT_FALSE(evaluation_program(*aggregate_program(*train, 2)).ok());
}

struct BadConfig {
    const char* name;
    const char* message;
    std::function<void(TrainConfig&)> change;
};
class EverySetting : public ::testing::TestWithParam<BadConfig> {};

TEST_P(EverySetting, OutOfBoundsIsAnErrorThatNamesIt) {
    TrainConfig config = small_config();
    GetParam().change(config);
    const auto program = train_program(config);
    ASSERT_FALSE(program.ok());
    EXPECT_EQ(program.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(program.error().message.find(GetParam().message), std::string::npos)
        << program.error().message;
}

using C = TrainConfig;
const double kNan = std::nan("");
INSTANTIATE_TEST_SUITE_P(
    Bounds, EverySetting,
    ::testing::Values(
        BadConfig{"batch", "batch", [](C& c) { c.batch = 0; }},
        // 2^32 rows: counted in 32 bits they were none, and a division by them ended the program.
        BadConfig{"rows", "more than 2^31 tokens",
                  [](C& c) {
                      c.batch = 65536;
                      c.model.context = 65536;
                  }},
        // Tables of 16 GiB, computed before anybody refused them.
        BadConfig{"rotary", "rotary positions",
                  [](C& c) {
                      c.model.architecture = Architecture::kLlama;
                      c.model.context = 65536;
                      c.model.heads = 1;
                      c.model.width = 65536;
                  }},
        BadConfig{"vocabulary", "vocabulary", [](C& c) { c.model.vocabulary = 1; }},
        BadConfig{"vocabulary_large", "vocabulary",
                  [](C& c) { c.model.vocabulary = (1U << 20) + 1; }},
        BadConfig{"context", "context", [](C& c) { c.model.context = 0; }},
        BadConfig{"layers", "layers", [](C& c) { c.model.layers = 0; }},
        BadConfig{"heads", "heads", [](C& c) { c.model.heads = 0; }},
        BadConfig{"heads_width", "multiple of heads", [](C& c) { c.model.heads = 3; }},
        BadConfig{"width", "width", [](C& c) { c.model.width = 0; }},
        BadConfig{"mlp", "mlp_ratio", [](C& c) { c.model.mlp_ratio = 0; }},
        BadConfig{"init", "init_std", [](C& c) { c.model.init_std = kNan; }},
        BadConfig{"layernorm", "layernorm_epsilon", [](C& c) { c.model.layernorm_epsilon = 0; }},
        BadConfig{"rate", "learning_rate", [](C& c) { c.optimizer.learning_rate = 0; }},
        BadConfig{"rate_nan", "learning_rate", [](C& c) { c.optimizer.learning_rate = kNan; }},
        BadConfig{"rate_min", "learning_rate_min", [](C& c) { c.optimizer.learning_rate_min = 1; }},
        BadConfig{"steps", "total_steps", [](C& c) { c.optimizer.total_steps = 0; }},
        BadConfig{"warmup", "warmup_steps", [](C& c) { c.optimizer.warmup_steps = 41; }},
        BadConfig{"beta1", "beta1", [](C& c) { c.optimizer.beta1 = 1; }},
        BadConfig{"beta2", "beta2", [](C& c) { c.optimizer.beta2 = -0.1; }},
        BadConfig{"epsilon", "epsilon", [](C& c) { c.optimizer.epsilon = 0; }},
        BadConfig{"decay", "weight_decay", [](C& c) { c.optimizer.weight_decay = -1; }},
        BadConfig{"clip", "clip_norm", [](C& c) { c.optimizer.clip_norm = 0; }},
        BadConfig{"outer_rate", "outer learning_rate", [](C& c) { c.outer.learning_rate = 0; }},
        BadConfig{"outer_momentum", "outer momentum", [](C& c) { c.outer.momentum = 1; }}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace gym::program
