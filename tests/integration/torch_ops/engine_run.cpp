#include "engine_run.hpp"

#include <bit>
#include <cstring>
#include <random>

#include "gym/commit/sha256.hpp"
#include "gym/engine/engine.hpp"
#include "gym/kernels/f32.h"

namespace gym::testing {
namespace {

using program::Opcode;
using program::Program;
using program::SlotKind;

program::TrainConfig small_config() {
    program::TrainConfig config;
    config.batch = 3;
    config.model = {.vocabulary = 61,
                    .context = 16,
                    .layers = 2,
                    .heads = 3,
                    .width = 24,
                    .bias = true,
                    .init_std = 0.1};
    config.optimizer.learning_rate = 1e-2;
    config.optimizer.warmup_steps = 3;
    config.optimizer.inner_warmup_steps = 2;
    config.optimizer.total_steps = 30;
    config.optimizer.clip_norm = 0.7;
    return config;
}

std::vector<std::int32_t> random_tokens(std::mt19937& random, const program::TrainConfig& config) {
    std::vector<std::int32_t> tokens(std::size_t{config.batch} * (config.model.context + 1));
    for (std::int32_t& token : tokens)
        token = static_cast<std::int32_t>(random() % config.model.vocabulary);
    return tokens;
}

float table_entry(const Program& program, std::string_view name, std::uint32_t index) {
    const auto& slot = program.slot(program.find_slot(name));
    const std::uint32_t last = slot.dims[0] - 1;
    float value = 0;
    std::memcpy(&value, slot.value.data() + std::min(index, last) * sizeof value, sizeof value);
    return value;
}

template <class T>
ByteView bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(T)};
}

std::uint32_t output_bits(const engine::Engine& engine, std::string_view name) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, engine.output(name).value().data(), sizeof bits);
    return bits;
}

}  // namespace

EngineRun run_engine(std::uint32_t steps) {
    const program::TrainConfig config = small_config();
    Program program = program::train_program(config).value();
    engine::State state =
        engine::initial_state(program, commit::sha256(as_bytes("torch ops"))).value();
    EngineRun run{config, program, state, {}, {}, {}, {}, {}};
    auto engine = engine::Engine::create(program).value();
    std::mt19937 random(20);
    for (std::uint32_t step = 0; step < steps; ++step) {
        run.batches.push_back(random_tokens(random, config));
        run.rates.push_back(kernels::f32::mul(table_entry(program, "schedule", step),
                                              table_entry(program, "inner_warmup", step)));
        const std::vector<std::int32_t> clock(2, static_cast<std::int32_t>(step));
        const engine::NamedTensorView inputs[] = {
            {program::kBatchInput, bytes_of(run.batches.back())},
            {program::kClockInput, bytes_of(clock)}};
        const Status status = engine.run(state, inputs);
        GYM_ASSERT(status.ok(), "the test's own program");
        run.loss_bits.push_back(output_bits(engine, program::kLossOutput));
        run.grad_norm_bits.push_back(output_bits(engine, program::kGradNormOutput));
    }
    run.trained = std::move(state);
    return run;
}

float weight_decay(const Program& program, const std::string& param) {
    for (const program::Op& op : program.ops()) {
        if (op.code == Opcode::kAdamw && program.slot(op.inputs[0]).name == param) return op.f32(5);
    }
    GYM_ASSERT(false, "every parameter is trained");
}

std::vector<std::string> param_names(const Program& program) {
    std::vector<std::string> names;
    for (const program::SlotId id : program.slots_of(SlotKind::kParam))
        names.push_back(program.slot(id).name);
    return names;
}

}  // namespace gym::testing
