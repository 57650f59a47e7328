// Whole programs: the memory plan, fused against expanded, loss, errors of the engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "gym/engine/batch.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/train.hpp"
#include "gym/program/builder.hpp"
#include "gym/program/expand.hpp"
#include "memory_plan.hpp"
#include "small_model.hpp"

namespace gym::engine {
namespace {

using program::Program;
using program::SlotId;

/// The slots whose bytes a given op or a later one may still read, found without the plan's own
/// logic.
std::vector<bool> needed_after(const Program& program, std::size_t op_index) {
    std::vector<bool> needed(program.slots().size(), false);
    for (std::size_t i = op_index; i < program.ops().size(); ++i) {
        for (const SlotId id : program.ops()[i].inputs)
            needed[id] = true;
    }
    for (const auto& output : program.outputs())
        if (outlives_the_run(program, output.name)) needed[output.slot] = true;
    for (const auto& slot : program.slots()) {
        if (slot.next != program::kNoSlot) needed[slot.next] = true;
    }
    return needed;
}

void expect_no_overlap(const Program& program) {
    const MemoryPlan plan = plan_memory(program);
    std::vector<bool> written(program.slots().size(), false);
    for (std::size_t i = 0; i < program.ops().size(); ++i) {
        const std::vector<bool> needed = needed_after(program, i);
        for (const SlotId out : program.ops()[i].outputs) {
            const auto& place = plan.slots[out];
            if (place.place != MemoryPlan::Place::kArena) continue;
            const std::uint64_t begin = place.offset;
            const std::uint64_t end = begin + program::size_bytes(program.slot(out));
            ASSERT_LE(end, plan.arena_bytes);
            for (SlotId other = 0; other < program.slots().size(); ++other) {
                const auto& held = plan.slots[other];
                if (other == out || !written[other] || !needed[other]) continue;
                if (held.place != MemoryPlan::Place::kArena) continue;
                const std::uint64_t other_end =
                    held.offset + program::size_bytes(program.slot(other));
                ASSERT_TRUE(end <= held.offset || other_end <= begin)
                    << "op " << i << " writes slot " << out << " over slot " << other;
            }
        }
        for (const SlotId out : program.ops()[i].outputs)
            written[out] = true;
    }
}

TEST(MemoryPlan, NeverWritesOverWhatIsStillNeeded) {
    const Program train = testing::small_program();
    expect_no_overlap(train);
    expect_no_overlap(program::expand(train).value());
    expect_no_overlap(program::evaluation_program(train).value());
    expect_no_overlap(program::aggregate_program(train, 3).value());
    expect_no_overlap(program::train_program(testing::small_llama_config()).value());
}

TEST(MemoryPlan, ReusesMemory) {
    const Program train = testing::small_program();
    std::uint64_t all = 0;
    for (const auto& slot : train.slots()) {
        if (slot.kind == program::SlotKind::kTemp) all += program::size_bytes(slot);
    }
    EXPECT_LT(plan_memory(train).arena_bytes, all / 2);
}

/// The plan's peak, with the logits of 124M parameters: a plan that keeps them to the end has
/// 8,366.6 and 3,997.7 MB.
TEST(MemoryPlan, LogitsOfAStepGoAfterTheirLastReader) {
    program::TrainConfig config;
    config.model.vocabulary = 50257;
    config.model.context = 1024;
    config.model.layers = config.model.heads = 12;
    config.model.width = 768;
    config.batch = 8;
    const Program whole = program::train_program(config).value();
    config.micro_batches = 4;
    const Program parts = program::train_program(config).value();
    EXPECT_EQ(plan_memory(whole).arena_bytes / 1'000'000, 8187U);
    EXPECT_EQ(plan_memory(parts).arena_bytes / 1'000'000, 3573U);
    EXPECT_FALSE(outlives_the_run(whole, program::kLogitsOutput));
    EXPECT_TRUE(outlives_the_run(whole, program::kLossOutput));
    EXPECT_TRUE(outlives_the_run(program::logits_program(whole).value(), program::kLogitsOutput));
}

TEST(MemoryPlan, LogitsOfAStepCannotBeReadAfterIt) {
    const Program train = testing::small_program();
    auto engine = Engine::create(train);
    ASSERT_TRUE(engine.ok());
    const Status gone = engine->output(program::kLogitsOutput).error();
    EXPECT_NE(gone.error().message.find("gone after its last reader"), std::string::npos);
}

TEST(MemoryPlan, AStateThatIsReadAfterItsNextValueIsKept) {
    program::Builder b;
    const program::Init one{program::Init::Kind::kConstant, 0x3F800000};
    const SlotId x = b.state("x", {4}, one);
    const SlotId next = b.add(x, x);
    b.set_next(x, next);
    b.output("old_plus_new", b.add(next, x));
    const Program program = b.build().value();
    State state = initial_state(program, {}).value();
    auto engine = Engine::create(program);
    ASSERT_TRUE(engine.ok());
    ASSERT_TRUE(engine->run(state, {}).ok());
    float sum = 0, value = 0;
    std::memcpy(&sum, engine->output("old_plus_new")->data(), sizeof sum);
    std::memcpy(&value, state.tensors[0].bytes.data(), sizeof value);
    EXPECT_EQ(sum, 3.0F);
    EXPECT_EQ(value, 2.0F);
}

TEST(MemoryPlan, TwoStatesMayTakeOneValue) {
    program::Builder b;
    const SlotId x = b.state("x", {1}, {program::Init::Kind::kConstant, 0x3F800000});
    const SlotId y = b.state("y", {1}, {program::Init::Kind::kConstant, 0x40000000});
    const SlotId sum = b.add(x, y);
    b.set_next(x, sum);
    b.set_next(y, sum);
    const Program program = b.build().value();
    State state = initial_state(program, {}).value();
    auto engine = Engine::create(program);
    ASSERT_TRUE(engine.ok() && engine->run(state, {}).ok());
    const float three = 3;
    for (const StateTensor& tensor : state.tensors)
        EXPECT_EQ(std::memcmp(tensor.bytes.data(), &three, sizeof three), 0);
}

std::vector<StepRecord> train(const Program& program, const EngineOptions& options,
                              std::uint32_t steps) {
    const auto dataset = testing::counting_dataset();
    const Digest seed = testing::seed_of("whole program");
    auto trainer = Trainer::create(program, initial_state(program, seed).value(), dataset,
                                   {{seed, 0, 0}, steps, 1}, options);
    EXPECT_TRUE(trainer.ok());
    std::vector<StepRecord> records;
    for (std::uint32_t i = 0; i < steps; ++i)
        records.push_back(trainer->step().value());
    return records;
}

TEST(Program, FusedAndExpandedTrainToTheSameBits) {
    auto config = testing::small_config();
    config.model.bias = true;
    config.model.tied_embeddings = false;
    for (const auto& one : {testing::small_config(), config, testing::small_llama_config()}) {
        const Program fused = program::train_program(one).value();
        const Program expanded = program::expand(fused).value();
        EXPECT_EQ(train(fused, {}, 3), train(expanded, {}, 3));
    }
}

TEST(Program, TrainingReducesTheLoss) {
    const auto records = train(testing::small_program(), {}, 120);
    const auto loss = [&](std::size_t i) { return std::bit_cast<float>(records[i].loss_bits); };
    EXPECT_NEAR(loss(0), std::log(256.0F), 0.3);
    EXPECT_LT(loss(119), 3.2F);
}

TEST(Program, ALlamaReducesTheLoss) {
    const auto program = program::train_program(testing::small_llama_config()).value();
    const auto records = train(program, {}, 120);
    const auto loss = [&](std::size_t i) { return std::bit_cast<float>(records[i].loss_bits); };
    EXPECT_NEAR(loss(0), std::log(256.0F), 0.3);
    EXPECT_LT(loss(119), 3.2F);
}

TEST(Engine, RefusesInputsAndStatesThatDoNotFit) {
    const Program program = testing::small_program();
    auto engine = Engine::create(program);
    ASSERT_TRUE(engine.ok());
    State state = initial_state(program, {}).value();
    const Bytes batch(2 * 17 * 4), clock(8);
    const auto run = [&](std::vector<NamedTensorView> inputs) {
        return engine->run(state, inputs);
    };
    EXPECT_FALSE(engine->output("loss").ok());
    EXPECT_FALSE(run({}).ok());
    EXPECT_FALSE(run({{"batch", batch}, {"time", clock}}).ok());
    EXPECT_FALSE(run({{"batch", ByteView(batch).first(8)}, {"clock", clock}}).ok());
    EXPECT_TRUE(run({{"clock", clock}, {"batch", batch}}).ok());
    EXPECT_TRUE(engine->output("loss").ok());
    EXPECT_EQ(engine->output("nothing").error().code, ErrorCode::kNotFound);
    state.tensors[0].bytes.pop_back();
    EXPECT_EQ(run({{"batch", batch}, {"clock", clock}}).error().code, ErrorCode::kShapeMismatch);
}

TEST(Engine, RunsNoTrainingOfWhatIsNoTrainProgram) {
    const Program evaluation = program::evaluation_program(testing::small_program()).value();
    const auto dataset = testing::counting_dataset();
    const auto trainer =
        Trainer::create(evaluation, initial_state(evaluation, {}).value(), dataset, {{}, 1, 0});
    ASSERT_FALSE(trainer.ok());
    EXPECT_EQ(trainer.error().code, ErrorCode::kInvalidArgument);
}

TEST(Engine, RefusesADatasetWithMoreTokensThanTheModelKnows) {
    auto config = testing::small_config();
    config.model.vocabulary = 100;
    const Program program = program::train_program(config).value();
    const auto dataset = testing::counting_dataset();
    const auto trainer =
        Trainer::create(program, initial_state(program, {}).value(), dataset, {{}, 1, 0});
    ASSERT_FALSE(trainer.ok());
    EXPECT_NE(trainer.error().message.find("vocabulary"), std::string::npos);
}

TEST(Batch, WindowsAreAPureFunctionAndCoverTheSplit) {
    const auto dataset = testing::counting_dataset(400);
    const std::uint64_t starts = dataset.window_count(blob::Split::kTrain, 17).value();
    const BatchKey key{testing::seed_of("windows"), 2, 5};
    std::vector<bool> seen(starts, false);
    for (std::uint64_t step = 0; step < 1500; ++step) {
        for (std::uint32_t i = 0; i < 4; ++i) {
            const std::uint64_t start = window_start(key, step, i, starts);
            ASSERT_LT(start, starts);
            ASSERT_EQ(start, window_start(key, step, i, starts));
            seen[start] = true;
        }
    }
    EXPECT_EQ(std::ranges::count(seen, false), 0);
    const auto batch = training_batch(dataset, key, 9, 2, 16);
    ASSERT_TRUE(batch.ok());
    const auto expected =
        dataset.window(blob::Split::kTrain, window_start(key, 9, 1, starts), 17).value();
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), batch->tokens.begin() + 17));
    EXPECT_NE(batch->root, training_batch(dataset, key, 10, 2, 16)->root);
    EXPECT_EQ(training_batch(dataset, key, 0, 0, 16).error().code, ErrorCode::kInvalidArgument);
}

TEST(Batch, ValidationWindowsAreSpreadOverTheSplit) {
    const auto dataset = testing::counting_dataset(4000);
    const auto first = validation_batch(dataset, 0, 4, 4, 16);
    const auto second_half = validation_batch(dataset, 2, 2, 4, 16);
    ASSERT_TRUE(first.ok() && second_half.ok());
    EXPECT_TRUE(std::equal(second_half->tokens.begin(), second_half->tokens.end(),
                           first->tokens.begin() + 2 * 17));
    EXPECT_FALSE(validation_batch(dataset, 4, 1, 4, 16).ok());
}

}  // namespace
}  // namespace gym::engine
