#include "gym/engine/unit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "gym/blob/blob_store.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/engine/fault_injection.hpp"
#include "gym/kernels/f32.h"
#include "small_model.hpp"

namespace gym::engine {
namespace {

using testing::SmallUnit;

/// Removes the process-wide hook at the end of a test.
struct HookGuard {
    explicit HookGuard(FaultHook hook) { set_fault_hook(std::move(hook)); }
    ~HookGuard() { set_fault_hook({}); }
};

TEST(Unit, IsAPureFunctionOfItsInputs) {
    const SmallUnit unit;
    RunOptions two_threads;
    two_threads.engine.threads = 2;
    const auto first = unit.run(), second = unit.run(two_threads);
    ASSERT_TRUE(first.ok()) << first.error().message;
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(first->records, second->records);
    EXPECT_EQ(first->records_root, second->records_root);
    EXPECT_EQ(first->final_state_root, second->final_state_root);
    EXPECT_EQ(first->delta, second->delta);
    EXPECT_EQ(first->delta.root(), blob::blob_root(second->delta.bytes()));
    EXPECT_EQ(first->tokens, 6U * 2 * 16);
    EXPECT_EQ(find_first_difference(first->records, second->records), std::nullopt);
}

TEST(Unit, TheFormatOfItsDatasetChangesNoBit) {
    const SmallUnit plain;
    SmallUnit described;
    described.dataset = testing::counting_dataset_as({256, testing::seed_of("tokenizer")}, 60000);
    described.spec.dataset_root = described.dataset.root();
    EXPECT_NE(described.spec.dataset_root, plain.spec.dataset_root);
    const auto a = plain.run(), b = described.run();
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->records_root, b->records_root);
    EXPECT_EQ(a->final_state_root, b->final_state_root);
}

/// A model of more tokens than 16 bits name learns of them, and of no others.
TEST(Unit, TrainsOnTokensBeyondSixteenBits) {
    constexpr std::uint32_t kTokens = 128'256;
    program::TrainConfig config = testing::small_llama_config();
    config.model.vocabulary = kTokens;
    config.model.width = 12;
    config.model.tied_embeddings = false;
    config.optimizer.warmup_steps = 0;
    config.optimizer.inner_warmup_steps = 0;
    SmallUnit unit{.program = program::train_program(config).value(),
                   .dataset = testing::counting_dataset_as({kTokens, {}}, 3000)};
    unit.base = testing::initial_base(unit.program, unit.seed);
    unit.spec.program_root = program::program_root(unit.program);
    unit.spec.dataset_root = unit.dataset.root();
    unit.spec.base_state_root = state_root(unit.base);
    unit.spec.steps = 2;
    unit.spec.checkpoint_every = 1;
    const TokenView tokens = unit.dataset.tokens();
    EXPECT_GT(*std::ranges::max_element(tokens), 65'535U);
    const auto result = unit.run();
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_LT(std::abs(std::bit_cast<float>(result->records[0].loss_bits) - std::log(128'256.0F)),
              0.5F);
    const auto again = unit.run();
    EXPECT_EQ(again->records_root, result->records_root);
}

TEST(Unit, DependsOnSeedRoundAndSlot) {
    const SmallUnit unit;
    const auto reference = unit.run();
    ASSERT_TRUE(reference.ok());
    for (int field = 0; field < 3; ++field) {
        SmallUnit other;
        if (field == 0) other.spec.job_seed = testing::seed_of("another");
        if (field == 1) ++other.spec.round;
        if (field == 2) ++other.spec.slot;
        const auto result = other.run();
        ASSERT_TRUE(result.ok());
        const auto difference = find_first_difference(reference->records, result->records);
        ASSERT_TRUE(difference.has_value());
        EXPECT_EQ(difference->step, 0U);
        EXPECT_EQ(difference->field, "batch_root");
    }
}

TEST(Unit, RecordsRootsAtCheckpointsAndAtTheLastStep) {
    SmallUnit unit;
    unit.spec.steps = 5;
    unit.spec.checkpoint_every = 2;
    const auto result = unit.run();
    ASSERT_TRUE(result.ok());
    std::vector<bool> checkpoints;
    for (const auto& record : result->records) {
        EXPECT_EQ(record.state_root.has_value(), record.gradient_root.has_value());
        checkpoints.push_back(record.state_root.has_value());
    }
    EXPECT_EQ(checkpoints, (std::vector<bool>{false, true, false, true, true}));
    EXPECT_EQ(result->records.back().state_root, result->final_state_root);
}

TEST(Unit, RefusesOtherInputsThanItNames) {
    for (int field = 0; field < 3; ++field) {
        SmallUnit unit;
        Digest& root = field == 0   ? unit.spec.program_root
                       : field == 1 ? unit.spec.dataset_root
                                    : unit.spec.base_state_root;
        root.data[7] ^= 1;
        const auto result = unit.run();
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().code, ErrorCode::kMismatch);
    }
    SmallUnit stale;
    stale.base.tensors[0].bytes[0] ^= 1;
    EXPECT_EQ(stale.run().error().code, ErrorCode::kMismatch);
}

TEST(Unit, RefusesImpossibleSizes) {
    SmallUnit none;
    none.spec.steps = 0;
    EXPECT_EQ(none.run().error().code, ErrorCode::kInvalidArgument);
    SmallUnit endless;
    endless.spec.steps = kUnitStepsMax + 1;
    EXPECT_EQ(endless.run().error().code, ErrorCode::kOutOfRange);
    SmallUnit far;
    far.spec.round = std::uint64_t{1} << 24;
    EXPECT_EQ(far.run().error().code, ErrorCode::kOutOfRange);
    SmallUnit little_memory;
    RunOptions options;
    options.engine.memory_bytes_max = 1000;
    EXPECT_EQ(little_memory.run(options).error().code, ErrorCode::kOutOfRange);
}

TEST(Unit, SaysSoWhenTheTextIsShorterThanAWindow) {
    SmallUnit unit;
    // 18 tokens: 17 to train on are exactly one window; one token less is too short.
    unit.dataset = testing::counting_dataset(18);
    unit.spec.dataset_root = unit.dataset.root();
    EXPECT_TRUE(unit.run().ok());
    unit.dataset = testing::counting_dataset(16);
    unit.spec.dataset_root = unit.dataset.root();
    const auto result = unit.run();
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.error().message.find("window"), std::string::npos) << result.error().message;
}

TEST(Unit, RefusesABadEngineChoice) {
    const SmallUnit unit;
    RunOptions options;
    options.engine.threads = 0;
    EXPECT_EQ(unit.run(options).error().code, ErrorCode::kInvalidArgument);
    options.engine.threads = 1;
    options.engine.isa = "mmx";
    EXPECT_EQ(unit.run(options).error().code, ErrorCode::kInvalidArgument);
}

TEST(Unit, StopsWhenAsked) {
    const SmallUnit unit;
    std::stop_source stop;
    std::uint64_t steps_seen = 0;
    RunOptions options;
    options.cancel = stop.get_token();
    options.progress = [&](const UnitProgress& progress) {
        steps_seen = progress.step;
        if (progress.step == 2) stop.request_stop();
    };
    const auto result = unit.run(options);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(steps_seen, 2U);
}

TEST(Unit, NeverStopsBetweenWhatItSavesAndTheNextStep) {
    const SmallUnit unit;
    std::stop_source stop;
    std::uint64_t saved = 0;
    RunOptions options;
    options.cancel = stop.get_token();
    options.after_step = [&](const Trainer&, std::span<const StepRecord> records) {
        if (stop.stop_requested()) saved = records.size();
        stop.request_stop();  // too late for whoever has just looked
    };
    EXPECT_EQ(unit.run(options).error().code, ErrorCode::kCancelled);
    EXPECT_EQ(saved, 2U);
}

/// The checkpoint after each step, as a worker would save it.
std::vector<UnitPosition> positions_of(const SmallUnit& unit) {
    std::vector<UnitPosition> out;
    RunOptions options;
    options.after_step = [&](const Trainer& trainer, std::span<const StepRecord> records) {
        out.push_back({*trainer.state().value(), {records.begin(), records.end()}});
    };
    EXPECT_TRUE(unit.run(options).ok());
    return out;
}

TEST(Unit, GoesOnFromEveryStepWithTheSameBits) {
    const SmallUnit unit;
    const auto whole = unit.run();
    ASSERT_TRUE(whole.ok());
    const auto positions = positions_of(unit);
    ASSERT_EQ(positions.size(), unit.spec.steps);
    for (UnitPosition position : positions) {
        RunOptions options;
        options.resume = &position;
        std::uint64_t steps_run = 0;
        options.progress = [&](const UnitProgress&) { ++steps_run; };
        const auto rest = unit.run(options);
        ASSERT_TRUE(rest.ok()) << rest.error().message;
        EXPECT_EQ(steps_run + position.records.size(), unit.spec.steps);
        EXPECT_EQ(rest->records, whole->records);
        EXPECT_EQ(rest->records_root, whole->records_root);
        EXPECT_EQ(rest->final_state_root, whole->final_state_root);
        EXPECT_EQ(rest->delta, whole->delta);
        EXPECT_EQ(rest->tokens, whole->tokens);
        EXPECT_EQ(rest->flops, whole->flops);
        EXPECT_EQ(rest->last_loss, whole->last_loss);
    }
}

TEST(Unit, RefusesAPositionThatIsNotItsOwn) {
    const SmallUnit unit;
    const auto positions = positions_of(unit);
    const auto code = [&](UnitPosition position) {
        RunOptions options;
        options.resume = &position;
        const auto run = unit.run(options);
        return run.ok() ? std::optional<ErrorCode>() : run.error().code;
    };
    UnitPosition altered = positions.back();
    altered.state.tensors[0].bytes[0] ^= 1;
    EXPECT_EQ(code(altered), ErrorCode::kMismatch);
    UnitPosition swapped = positions[2];
    std::swap(swapped.records[0], swapped.records[1]);
    EXPECT_EQ(code(swapped), ErrorCode::kMismatch);
    UnitPosition misshapen = positions[0];
    misshapen.records[0].state_root.reset();
    misshapen.state.tensors.pop_back();
    EXPECT_EQ(code(misshapen), ErrorCode::kShapeMismatch);
    UnitPosition beyond = positions.back();
    beyond.records.push_back({.step = beyond.records.size()});
    EXPECT_EQ(code(beyond), ErrorCode::kOutOfRange);
}

TEST(Unit, TracesEveryOutputOfTheChosenStep) {
    const SmallUnit unit;
    std::vector<Digest> roots;
    std::size_t bad = 0;
    RunOptions options;
    options.trace_step = 4;
    options.trace = [&](const TraceEntry& entry) {
        roots.push_back(entry.output_root);
        bad += entry.output.empty() ? 1 : 0;
    };
    ASSERT_TRUE(unit.run(options).ok());
    std::size_t outputs = 0;
    for (const auto& op : unit.program.ops())
        outputs += op.outputs.size();
    EXPECT_EQ(roots.size(), outputs);
    EXPECT_EQ(bad, 0U);
    const auto first = roots;
    roots.clear();
    ASSERT_TRUE(unit.run(options).ok());
    EXPECT_EQ(roots, first);
}

TEST(Unit, AFlippedBitIsLocatedToItsStep) {
    const SmallUnit unit;
    const auto honest = unit.run();
    ASSERT_TRUE(honest.ok());
    for (const std::uint64_t step : {0U, 2U, 4U}) {
        const HookGuard hook([&](std::uint64_t run, std::uint32_t op, std::span<std::uint8_t> out) {
            if (run == step && op == unit.program.ops().size() / 3) out[2] ^= 0x40;
        });
        const auto cheated = unit.run();
        ASSERT_TRUE(cheated.ok());
        const auto difference = find_first_difference(honest->records, cheated->records);
        ASSERT_TRUE(difference.has_value());
        EXPECT_EQ(difference->step, step);
        EXPECT_NE(cheated->records_root, honest->records_root);
        EXPECT_NE(cheated->final_state_root, honest->final_state_root);
        EXPECT_NE(cheated->delta.root(), honest->delta.root());
    }
}

TEST(Unit, AStepThatIsRunAloneHasTheFaultOfTheFirstTime) {
    const SmallUnit unit;
    const HookGuard hook([&](std::uint64_t run, std::uint32_t op, std::span<std::uint8_t> out) {
        if (run == 4 && op == unit.program.ops().size() / 3) out[2] ^= 0x40;
    });
    UnitPosition position;
    RunOptions options;
    options.after_step = [&](const Trainer& trainer, std::span<const StepRecord> records) {
        if (records.size() == 4) position = {**trainer.state(), {records.begin(), records.end()}};
    };
    const auto whole = unit.run(options);
    ASSERT_TRUE(whole.ok());
    RunOptions resumed;
    resumed.resume = &position;
    EXPECT_EQ(unit.run(resumed)->records, whole->records);
}

TEST(Unit, ANanPoisonsTheLossAndTheDelta) {
    const SmallUnit unit;
    const HookGuard hook([&](std::uint64_t run, std::uint32_t op, std::span<std::uint8_t> out) {
        const std::uint32_t nan = kernels::f32::kNanBits;
        if (run == 1 && unit.program.ops()[op].code == program::Opcode::kLayernorm)
            std::memcpy(out.data(), &nan, sizeof nan);
    });
    const auto result = unit.run();
    ASSERT_TRUE(result.ok());
    EXPECT_TRUE(std::isfinite(std::bit_cast<float>(result->records[0].loss_bits)));
    EXPECT_EQ(result->records[1].loss_bits, kernels::f32::kNanBits);
    const auto delta = Delta::decode(unit.program, result->delta);
    ASSERT_TRUE(delta.ok());
    EXPECT_EQ(delta->norm_bits(), kernels::f32::kNanBits);
}

TEST(Records, OneDecodesToItselfAndNothingElseDoes) {
    const SmallUnit unit;
    const auto result = unit.run();
    ASSERT_TRUE(result.ok());
    for (const StepRecord& record : result->records) {
        const Bytes bytes = encode_step_record(record);
        EXPECT_EQ(decode_step_record(bytes).value(), record);
        for (std::size_t size = 0; size < bytes.size(); ++size)
            EXPECT_FALSE(decode_step_record(ByteView(bytes).first(size)).ok()) << size;
        Bytes longer = bytes;
        longer.push_back(0);
        EXPECT_FALSE(decode_step_record(longer).ok());
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            Bytes changed = bytes;
            changed[at] ^= 0x41;
            const auto decoded = decode_step_record(changed);
            EXPECT_TRUE(!decoded.ok() || encode_step_record(*decoded) == changed) << at;
        }
    }
}

TEST(Records, EveryFieldIsCommittedToAndCompared) {
    const SmallUnit unit;
    const auto result = unit.run();
    ASSERT_TRUE(result.ok());
    const std::vector<StepRecord>& honest = result->records;
    const auto expect_found = [&](std::size_t step, const char* field, auto change) {
        auto records = honest;
        change(records[step]);
        const auto difference = find_first_difference(honest, records);
        ASSERT_TRUE(difference.has_value());
        EXPECT_EQ(difference->step, step);
        EXPECT_EQ(difference->field, field);
        EXPECT_NE(records_root(records), records_root(honest));
    };
    expect_found(1, "batch_root", [](StepRecord& r) { r.batch_root.data[0] ^= 1; });
    expect_found(2, "loss", [](StepRecord& r) { r.loss_bits ^= 1; });
    expect_found(3, "grad_norm", [](StepRecord& r) { r.grad_norm_bits ^= 1; });
    expect_found(2, "gradient_root", [](StepRecord& r) { r.gradient_root->data[31] ^= 1; });
    expect_found(5, "state_root", [](StepRecord& r) { r.state_root->data[31] ^= 1; });
    expect_found(0, "step", [](StepRecord& r) { r.step = 9; });
    expect_found(4, "state_root", [](StepRecord& r) { r.state_root = Digest{}; });
    auto shorter = honest;
    shorter.pop_back();
    EXPECT_EQ(find_first_difference(honest, shorter)->field, "missing");
    EXPECT_NE(records_root(shorter), records_root(honest));
}

TEST(Records, DecodeOnlyTheirOwnEncoding) {
    const SmallUnit unit;
    const auto result = unit.run();
    ASSERT_TRUE(result.ok());
    const Bytes bytes = encode_records(result->records);
    const auto decoded = decode_records(bytes);
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(*decoded, result->records);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_records({bytes.data(), size}).ok()) << size;
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_FALSE(decode_records(longer).ok());
}

TEST(Records, TheChainCommitsToTheOrder) {
    const SmallUnit unit;
    const auto result = unit.run();
    ASSERT_TRUE(result.ok());
    auto swapped = result->records;
    std::swap(swapped[0], swapped[1]);
    EXPECT_NE(record_chain(swapped).back(), record_chain(result->records).back());
}

}  // namespace
}  // namespace gym::engine
