// Training's additions to a forward pass: micro-batches, dropout, decay groups, schedules, guard.
#include <gtest/gtest.h>

#include <cstring>

#include "gym/program/codec.hpp"
#include "gym/program/expand.hpp"
#include "gym/program/train_program.hpp"

namespace gym::program {
namespace {

TrainConfig small_config() {
    TrainConfig config;
    config.batch = 4;
    config.model = {.vocabulary = 11, .context = 4, .layers = 2, .heads = 2, .width = 8};
    config.model.bias = true;
    config.optimizer.total_steps = 40;
    config.optimizer.warmup_steps = 10;
    return config;
}

Program made(const TrainConfig& config) {
    auto program = train_program(config);
    GYM_ASSERT(program.ok(), program.ok() ? "" : program.error().message);
    return *std::move(program);
}

std::size_t count(const Program& program, Opcode code) {
    std::size_t found = 0;
    for (const Op& op : program.ops())
        found += op.code == code ? 1 : 0;
    return found;
}

std::vector<float> schedule_of(const TrainConfig& config) {
    const Program program = made(config);
    const Bytes& bytes = program.slot(program.find_slot("schedule")).value;
    std::vector<float> values(bytes.size() / 4);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

TEST(Dropout, IsInTrainingAlone) {
    TrainConfig config = small_config();
    const Program plain = made(config);
    config.model.dropout = 0.25;
    const Program dropped = made(config);
    EXPECT_EQ(count(dropped, Opcode::kRandomMask), 1U + 2 * 2);
    EXPECT_EQ(count(plain, Opcode::kRandomMask), 0U);
    EXPECT_EQ(plain.find_slot(kRandomInput), kNoSlot);
    // Cut out of the training program, the model is the one without dropout, to the root.
    EXPECT_EQ(program_root(*evaluation_program(dropped)), program_root(*evaluation_program(plain)));
    EXPECT_EQ(program_root(*logits_program(dropped)), program_root(*logits_program(plain)));
    EXPECT_EQ(*logits_program(dropped), *logits_program(config.model, config.batch));
}

TEST(Dropout, DrawsEachMaskFromAnOpOfItsOwn) {
    TrainConfig config = small_config();
    config.model.dropout = 0.25;
    config.micro_batches = 2;
    std::uint64_t next = kRandomOpDropoutFirst;
    const Program program = made(config);
    for (const Op& op : program.ops()) {
        if (op.code != Opcode::kRandomMask) continue;
        EXPECT_EQ(op.attributes[0], next++);
        EXPECT_EQ(op.attributes[1], 0x40000000U);
        EXPECT_EQ(op.f32(2), 1.0F / 0.75F);
    }
    EXPECT_EQ(next, kRandomOpDropoutFirst + 2 * 5);
}

TEST(MicroBatches, ShareParametersAndSumGradients) {
    TrainConfig config = small_config();
    const Program whole = made(config);
    config.micro_batches = 4;
    const Program parts = made(config);
    EXPECT_EQ(count(parts, Opcode::kCrossEntropy), 4U);
    const auto params = whole.slots_of(SlotKind::kParam);
    EXPECT_EQ(parts.slots_of(SlotKind::kParam).size(), params.size());
    EXPECT_EQ(count(parts, Opcode::kSumTensors), params.size() + 1);
    EXPECT_EQ(parts.slot(parts.find_slot(kBatchInput)).dims, (Dims{4, 5}));
    EXPECT_EQ(parts.slot(parts.find_output(kLogitsOutput)).dims, (Dims{4, 11}));
    EXPECT_TRUE(expand(parts).ok());
}

TEST(MicroBatches, MustDivideTheBatch) {
    TrainConfig config = small_config();
    for (const std::uint32_t parts : {0U, 3U, 13U}) {
        config.micro_batches = parts;
        const auto program = train_program(config);
        ASSERT_FALSE(program.ok()) << parts;
        EXPECT_NE(program.error().message.find("micro_batches"), std::string::npos);
    }
}

TEST(DecayGroups, AreChosenOneByOne) {
    TrainConfig config = small_config();
    const auto decayed = [&] {
        std::vector<std::string> names;
        const Program program = made(config);
        for (const Op& op : program.ops())
            if (op.code == Opcode::kAdamw && op.f32(5) != 0)
                names.push_back(program.slot(op.inputs[0]).name);
        return names;
    };
    const std::size_t linear = decayed().size();
    EXPECT_EQ(linear, 2U * 4);
    config.optimizer.decay_embeddings = true;
    EXPECT_EQ(decayed().size(), linear + 2);
    config.optimizer.decay_norms = true;
    EXPECT_EQ(decayed().size(), linear + 2 + 2 * 5);
    config.optimizer.decay_biases = true;
    EXPECT_EQ(decayed().size(), made(config).slots_of(SlotKind::kParam).size());
}

TEST(Schedules, FallAsTheySay) {
    TrainConfig config = small_config();
    config.optimizer.schedule = Schedule::kLinear;
    const std::vector<float> line = schedule_of(config);
    EXPECT_FLOAT_EQ(line[9], 1e-3F);
    EXPECT_FLOAT_EQ(line[10], 1e-3F);
    EXPECT_FLOAT_EQ(line[25], 5.5e-4F);
    EXPECT_EQ(line.back(), 1e-4F);
    config.optimizer.schedule = Schedule::kConstant;
    const std::vector<float> flat = schedule_of(config);
    EXPECT_FLOAT_EQ(flat[0], 1e-4F) << "warms up";
    for (std::size_t step = 10; step < flat.size(); ++step)
        EXPECT_EQ(flat[step], 1e-3F);
}

TEST(Guard, GuardsEveryUpdate) {
    TrainConfig config = small_config();
    config.optimizer.guard.enabled = true;
    const Program finite = made(config);
    EXPECT_EQ(count(finite, Opcode::kAdamw), 0U);
    EXPECT_EQ(count(finite, Opcode::kAdamwGuarded), finite.slots_of(SlotKind::kParam).size());
    EXPECT_NE(finite.find_output(kSkippedOutput), kNoSlot);
    EXPECT_EQ(finite.find_slot("guard.loss_mean"), kNoSlot);
    config.optimizer.guard.loss_factor = 2;
    EXPECT_NE(made(config).find_slot("guard.loss_mean"), kNoSlot);
    config.optimizer.guard.loss_factor = 1;
    EXPECT_FALSE(train_program(config).ok()) << "every second step would be a spike";
    config.optimizer.guard = {.enabled = true, .loss_factor = 2, .loss_decay = 1};
    EXPECT_FALSE(train_program(config).ok());
}

}  // namespace
}  // namespace gym::program
