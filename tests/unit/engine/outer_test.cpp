#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "generation_program.hpp"
#include "gym/engine/evaluate.hpp"
#include "gym/engine/generate.hpp"
#include "gym/engine/unit.hpp"
#include "gym/kernels/f32.h"
#include "small_model.hpp"

namespace gym::engine {
namespace {

using testing::SmallUnit;

std::vector<Delta> three_deltas(const SmallUnit& unit) {
    std::vector<Delta> deltas;
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
        SmallUnit one = unit;
        one.spec.slot = slot;
        deltas.push_back(Delta::decode(unit.program, one.run().value().delta).value());
    }
    return deltas;
}

float element(ByteView tensor, std::size_t i) {
    float value = 0;
    std::memcpy(&value, tensor.data() + i * sizeof value, sizeof value);
    return value;
}
/// Of the delta's first parameter.
float element(const Delta& delta, std::size_t i) {
    float value = 0;
    delta.read(0, i, {&value, 1});
    return value;
}
float element(const State& state, std::size_t tensor, std::size_t i) {
    return element(state.tensors[tensor].bytes, i);
}

TEST(Aggregate, IsTheMeanWithNesterovMomentum) {
    const SmallUnit unit;
    const auto deltas = three_deltas(unit);
    const auto first = run_aggregate(unit.program, unit.base, {}, deltas);
    ASSERT_TRUE(first.ok()) << first.error().message;
    const auto second = run_aggregate(unit.program, first->base, first->momentum, deltas);
    ASSERT_TRUE(second.ok());
    for (const std::size_t i : {0U, 5U, 77U}) {
        const double mean =
            (double{element(deltas[0], i)} + element(deltas[1], i) + element(deltas[2], i)) / 3;
        EXPECT_NEAR(element(first->momentum, 0, i), mean, 1e-9 + std::abs(mean) * 1e-5);
        EXPECT_NEAR(element(first->base, 0, i),
                    element(unit.base, 0, i) + 0.7 * (mean + 0.9 * mean), 1e-6);
        EXPECT_NEAR(element(second->momentum, 0, i), 1.9 * mean, 1e-9 + std::abs(mean) * 1e-5);
    }
    EXPECT_EQ(first->base_root, state_root(first->base));
    EXPECT_EQ(first->momentum_root, state_root(first->momentum));
    EXPECT_EQ(first->records.size(), 1U);
}

/// The third of three is of the round before: the mean is (2 a + 2 b + c) / 5.
TEST(Aggregate, CountsHeldDeltasHalf) {
    const SmallUnit unit;
    const auto deltas = three_deltas(unit);
    const auto held = run_aggregate(unit.program, unit.base, {}, deltas, 1);
    ASSERT_TRUE(held.ok()) << held.error().message;
    for (const std::size_t i : {0U, 5U, 77U}) {
        const double mean = (2 * double{element(deltas[0], i)} + 2 * double{element(deltas[1], i)} +
                             element(deltas[2], i)) /
                            5;
        EXPECT_NEAR(element(held->momentum, 0, i), mean, 1e-9 + std::abs(mean) * 1e-5);
    }
    const auto plain = run_aggregate(unit.program, unit.base, {}, deltas).value();
    EXPECT_NE(held->base_root, plain.base_root);
    EXPECT_NE(held->records[0].batch_root, plain.records[0].batch_root);
    const auto all = run_aggregate(unit.program, unit.base, {}, deltas, 3).value();
    EXPECT_EQ(all.base_root, plain.base_root) << "alone they are as good as others";
    EXPECT_NE(all.records[0].batch_root, plain.records[0].batch_root) << "the list says so";

    for (const std::uint64_t elements_max : {16ULL, 999ULL})
        EXPECT_EQ(
            run_aggregate(unit.program, unit.base, {}, deltas, 1, {}, elements_max)->base_root,
            held->base_root);
    EXPECT_EQ(run_aggregate(unit.program, unit.base, {}, deltas, 4).error().code,
              ErrorCode::kInvalidArgument);
    EngineOptions scalar;
    scalar.isa = "scalar";
    EXPECT_EQ(run_aggregate(unit.program, unit.base, {}, deltas, 1, scalar)->base_root,
              held->base_root);
}

/// The third of three is subtracted: as it went in, or as it was held then.
TEST(Aggregate, SubtractsWithdrawnDeltas) {
    const SmallUnit unit;
    const auto deltas = three_deltas(unit);
    const std::vector<std::pair<program::DeltaGroups, std::array<double, 4>>> cases = {
        {{0, 1, 0}, {2, 2, -2, 4}},  {{0, 1, 1}, {2, 2, -1, 4}},  {{1, 1, 0}, {2, 1, -2, 3}},
        {{0, 2, 1}, {2, -2, -1, 2}}, {{1, 2, 2}, {1, -1, -1, 1}},
    };
    for (const auto& [groups, weights] : cases) {
        const auto made = run_aggregate(unit.program, unit.base, {}, deltas, groups);
        ASSERT_TRUE(made.ok()) << made.error().message;
        for (const std::size_t i : {0U, 5U, 77U}) {
            double sum = 0;
            for (std::size_t k = 0; k < 3; ++k)
                sum += weights[k] * element(deltas[k], i);
            EXPECT_NEAR(element(made->momentum, 0, i), sum / weights[3], 1e-7);
        }
    }
    for (const program::DeltaGroups& none :
         {program::DeltaGroups{0, 3, 0}, {1, 3, 0}, {2, 2, 0}, {0, 1, 2}, {0, 17, 0}})
        EXPECT_EQ(run_aggregate(unit.program, unit.base, {}, deltas, none).error().code,
                  ErrorCode::kInvalidArgument);
}

/// With an outer step that adds the mean, and as many deltas in either round, the model is that
/// into which the delta never went.
TEST(Aggregate, AWithdrawnDeltaLeavesTheModelAsIfItHadNeverBeenIn) {
    auto config = testing::small_config();
    config.outer = {.learning_rate = 1, .momentum = 0};
    const SmallUnit unit{.program = testing::small_program(config)};
    const auto deltas = three_deltas(unit);
    const Delta& faulty = deltas[0];
    const Bytes zeros = encode_delta(unit.program, unit.base, unit.base).value();
    const Delta nothing = Delta::decode(unit.program, blob::VerifiedBlob::hash(zeros)).value();
    const auto after = [&](const Delta& first, std::span<const Delta> second,
                           const program::DeltaGroups& groups) {
        const auto one =
            run_aggregate(unit.program, unit.base, {}, std::vector{first, deltas[1]}).value();
        return run_aggregate(unit.program, one.base, one.momentum, second, groups).value().base;
    };
    const State undone = after(faulty, std::vector{deltas[1], deltas[2], faulty}, {0, 1, 0});
    const State never = after(nothing, std::vector{deltas[1], deltas[2]}, {});
    const State kept = after(faulty, std::vector{deltas[1], deltas[2]}, {});
    double largest = 0, left = 0;
    for (std::size_t t = 0; t < undone.tensors.size(); ++t)
        for (std::size_t i = 0; i < undone.tensors[t].bytes.size() / sizeof(float); ++i) {
            left = std::max(left, std::abs(double{element(undone, t, i)} - element(never, t, i)));
            largest =
                std::max(largest, std::abs(double{element(kept, t, i)} - element(never, t, i)));
        }
    EXPECT_LT(left, 1e-6);
    EXPECT_GT(largest, 1e-3);
}

TEST(Aggregate, DoesNotDependOnTheOrderOfDeltasOrTheEngine) {
    const SmallUnit unit;
    auto deltas = three_deltas(unit);
    const auto expected = run_aggregate(unit.program, unit.base, {}, deltas);
    ASSERT_TRUE(expected.ok());
    std::swap(deltas[0], deltas[2]);
    EngineOptions scalar;
    scalar.isa = "scalar";
    scalar.threads = 2;
    const auto swapped =
        run_aggregate(unit.program, unit.base, zero_momentum(unit.base), deltas, 0, scalar);
    ASSERT_TRUE(swapped.ok());
    EXPECT_EQ(swapped->base_root, expected->base_root);
    EXPECT_EQ(swapped->momentum_root, expected->momentum_root);
}

/// As where the stacked deltas of a parameter are more elements than a tensor may have.
TEST(Aggregate, InPartsOfParametersIsTheSame) {
    const SmallUnit unit;
    const auto deltas = three_deltas(unit);
    const auto first = run_aggregate(unit.program, unit.base, {}, deltas).value();
    const auto whole = run_aggregate(unit.program, first.base, first.momentum, deltas).value();
    for (const std::uint64_t elements_max : {3 * 100 + 2, 3 * 1000}) {
        const auto parts =
            run_aggregate(unit.program, first.base, first.momentum, deltas, 0, {}, elements_max);
        ASSERT_TRUE(parts.ok()) << parts.error().message;
        EXPECT_EQ(parts->base, whole.base);
        EXPECT_EQ(parts->momentum, whole.momentum);
        EXPECT_EQ(parts->records_root, whole.records_root);
        EXPECT_EQ(parts->flops, whole.flops);
        EXPECT_GT(parts->program.slots_of(program::SlotKind::kParam).size(),
                  whole.base.tensors.size());
        for (const program::Slot& slot : parts->program.slots())
            EXPECT_LE(program::element_count(slot.dims), elements_max);
    }
}

TEST(Aggregate, TakesOneDeltaAndRefusesNoneOrOthers) {
    const SmallUnit unit;
    auto deltas = three_deltas(unit);
    EXPECT_TRUE(run_aggregate(unit.program, unit.base, {}, {deltas.data(), 1}).ok());
    EXPECT_EQ(run_aggregate(unit.program, unit.base, {}, {}).error().code,
              ErrorCode::kInvalidArgument);
    SmallUnit wide;
    auto config = testing::small_config();
    config.model.width = 48;
    wide.program = program::train_program(config).value();
    wide.base =
        base_of(wide.program, initial_state(wide.program, unit.spec.job_seed).value()).value();
    EXPECT_EQ(run_aggregate(wide.program, wide.base, {}, deltas).error().code,
              ErrorCode::kShapeMismatch)
        << "deltas of another program";
    State wrong_momentum = unit.base;
    EXPECT_EQ(
        run_aggregate(unit.program, unit.base, wrong_momentum, {deltas.data(), 1}).error().code,
        ErrorCode::kShapeMismatch);
}

TEST(Aggregate, DerivesTheOuterStepFromTheTrainProgramAlone) {
    const SmallUnit unit;
    const auto deltas = three_deltas(unit);
    const auto made = run_aggregate(unit.program, unit.base, {}, deltas);
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(made->program, program::aggregate_program(unit.program, 3).value());
    EXPECT_EQ(run_aggregate(made->program, unit.base, {}, deltas).error().code,
              ErrorCode::kInvalidArgument);
}

TEST(Evaluate, IsTheSameOnEveryEngineAndBelowUniformAfterTraining) {
    SmallUnit unit;
    unit.spec.steps = 60;
    const auto trained = unit.run();
    ASSERT_TRUE(trained.ok());
    const auto before = evaluate(unit.program, unit.base, unit.dataset, 16);
    const auto after = evaluate(unit.program, trained->final_state, unit.dataset, 16);
    ASSERT_TRUE(before.ok() && after.ok());
    EXPECT_NEAR(before->mean_loss, std::log(256.0), 0.3);
    EXPECT_LT(after->mean_loss, before->mean_loss - 1.0F);
    EXPECT_EQ(after->windows, 16U);
    EngineOptions scalar;
    scalar.isa = "scalar";
    const auto again = evaluate(unit.program, trained->final_state, unit.dataset, 16, scalar);
    EXPECT_EQ(kernels::f32::to_bits(again->mean_loss), kernels::f32::to_bits(after->mean_loss));
    EXPECT_EQ(again->root, after->root);
    EXPECT_NE(before->root, after->root);
    EXPECT_NE(evaluate(unit.program, trained->final_state, unit.dataset, 14)->root, after->root);
    EXPECT_NEAR(after->perplexity, std::exp(after->mean_loss), 1e-4 * after->perplexity);
    const auto program = program::evaluation_program(unit.program);
    EXPECT_EQ(after->program_root, program::program_root(*program));
    // The evaluation program stands for the train program that it was cut from.
    EXPECT_EQ(evaluate(*program, trained->final_state, unit.dataset, 16)->root, after->root);
    const auto tiny = testing::counting_dataset(100);
    EXPECT_FALSE(evaluate(unit.program, unit.base, tiny, 16).ok());
}

TEST(Generate, ContinuesAPromptReproducibly) {
    SmallUnit unit;
    unit.spec.steps = 60;
    const auto trained = unit.run();
    ASSERT_TRUE(trained.ok());
    const std::vector<std::int32_t> prompt{'o', 'n', 'e', ',', ' '};
    GenerateOptions options;
    options.tokens = 40;
    const auto first = generate(unit.program, trained->final_state, prompt, options);
    ASSERT_TRUE(first.ok()) << first.error().message;
    EXPECT_EQ(first->size(), 40U);
    options.engine.isa = "scalar";
    EXPECT_EQ(*generate(unit.program, trained->final_state, prompt, options), *first);
    options.seed = testing::seed_of("another");
    EXPECT_NE(*generate(unit.program, trained->final_state, prompt, options), *first);
    options.top_k = 1;
    const auto greedy = generate(unit.program, trained->final_state, prompt, options);
    options.temperature = 0;
    EXPECT_EQ(*generate(unit.program, trained->final_state, prompt, options), *greedy);
}

TEST(Generate, RunsOneWindowOfAnyModelOfTheBuilder) {
    auto config = testing::small_config();
    for (const bool tied : {true, false}) {
        for (const bool bias : {true, false}) {
            config.model.tied_embeddings = tied;
            config.model.bias = bias;
            config.model.layers = 2;
            const auto train = program::train_program(config).value();
            const auto single = generation_program(train);
            ASSERT_TRUE(single.ok());
            const auto batch = single->find_slot(program::kBatchInput);
            EXPECT_EQ(single->slot(batch).dims[0], 1U);
            EXPECT_EQ(single->ops(), program::logits_program(config.model, 1)->ops());
        }
    }
}

TEST(Generate, RefusesBadPrompts) {
    const SmallUnit unit;
    const std::vector<std::int32_t> outside{256};
    EXPECT_FALSE(generate(unit.program, unit.base, {}).ok());
    EXPECT_FALSE(generate(unit.program, unit.base, outside).ok());
    GenerateOptions options;
    options.temperature = -1;
    const std::vector<std::int32_t> prompt{65};
    EXPECT_FALSE(generate(unit.program, unit.base, prompt, options).ok());
}

}  // namespace
}  // namespace gym::engine
