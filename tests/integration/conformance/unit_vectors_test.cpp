// tests/vectors/conformance/units.json: programs from YAML to bytes, and units of training from
// seed and dataset to records, states, deltas and traces.
#include <gtest/gtest.h>

#include "gym/commit/merkle.hpp"
#include "gym/dispute/trace_program.hpp"
#include "gym/engine/evaluate.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_program.hpp"
#include "sample_units.hpp"
#include "vector_file.hpp"

namespace gym::conformance {
namespace {

namespace json = boost::json;

/// Hexadecimal, with "bb*n," for a byte that is repeated 4 times and more.
std::string packed(ByteView bytes) {
    std::string out;
    for (std::size_t i = 0; i < bytes.size();) {
        std::size_t end = i;
        while (end < bytes.size() && bytes[end] == bytes[i])
            ++end;
        const std::size_t count = end - i;
        const std::string byte = to_hex(bytes.subspan(i, 1));
        if (count < 4) {
            out += byte;
            ++i;
        } else {
            out += byte + "*" + std::to_string(count) + ",";
            i = end;
        }
    }
    return out;
}

json::object program_vector(const program::Program& program) {
    return {
        {"file", packed(program::encode(program))},
        {"root", program::program_root(program).hex()},
        {"trace_header", to_hex(encode(dispute::trace_program(program).value().header))},
        {"trace_root", dispute::trace_root(dispute::trace_program(program).value().header).hex()},
        {"flops", program::flops_per_step(program)}};
}

json::object evaluation_vector(const SampleUnit& sample) {
    const auto found =
        engine::evaluate(sample.program, sample.base, sample.dataset, 4, {}, {}).value();
    const program::Program program = program::evaluation_program(sample.program).value();
    return {{"windows_max", 4},
            {"program_root", found.program_root.hex()},
            {"file", packed(program::encode(program))},
            {"windows", found.windows},
            {"root", found.root.hex()}};
}

json::object vector_of(const SampleUnit& sample) {
    const SampleResult result = run(sample);
    json::array overrides, records;
    for (const auto& change : sample.overrides)
        overrides.push_back(json::array{change.tensor, change.element, change.bits});
    for (const auto& record : result.unit.records)
        records.emplace_back(to_hex(encode_step_record(record)));
    const engine::State before = engine::with_fresh_optimizer(sample.program, sample.base).value();
    return {{"name", sample.name},
            {"yaml", sample.yaml},
            {"program", program_vector(sample.program)},
            {"dataset", to_hex(sample.dataset.encode())},
            {"dataset_root", sample.dataset.root().hex()},
            {"job_seed", sample.spec.job_seed.hex()},
            {"round", sample.spec.round},
            {"slot", sample.spec.slot},
            {"steps", sample.spec.steps},
            {"checkpoint_every", sample.spec.checkpoint_every},
            {"base_overrides", overrides},
            {"base_root", sample.spec.base_state_root.hex()},
            {"initial_state_root", engine::state_root(before).hex()},
            {"records", records},
            {"records_root", result.unit.records_root.hex()},
            {"final_state_root", result.unit.final_state_root.hex()},
            {"delta", to_hex(result.unit.delta.bytes())},
            {"delta_root", result.unit.delta.root().hex()},
            {"tokens", result.unit.tokens},
            {"flops", result.unit.flops},
            {"trace_chunks", result.chunks.size()},
            {"trace_chunks_root", commit::merkle_root(result.chunks).hex()},
            {"evaluation", evaluation_vector(sample)}};
}

/// The outer step over the deltas of the first two units, after a round whose momentum is the first
/// delta.
json::object aggregate_vector(const std::vector<SampleUnit>& samples) {
    const program::Program& train = samples[0].program;
    const engine::State& base = samples[0].base;
    std::vector<engine::Delta> deltas;
    for (std::size_t i = 0; i < 2; ++i)
        deltas.push_back(engine::Delta::decode(train, run(samples[i]).unit.delta).value());
    const auto first = engine::run_aggregate(train, base, {}, deltas).value();
    const auto second = engine::run_aggregate(train, first.base, first.momentum, deltas).value();
    json::array steps;
    for (const engine::AggregateResult* result : {&first, &second})
        steps.emplace_back(json::object{{"record", to_hex(encode_step_record(result->records[0]))},
                                        {"records_root", result->records_root.hex()},
                                        {"final_state_root", result->base_root.hex()},
                                        {"delta_root", result->momentum_root.hex()},
                                        {"flops", result->flops}});
    return {{"deltas_of", {samples[0].name, samples[1].name}},
            {"program", program_vector(first.program)},
            {"steps", steps}};
}

TEST(ConformanceVectors, OfUnitsAreWhatTheEngineComputes) {
    const std::vector<SampleUnit> samples = sample_units();
    json::array units;
    for (const SampleUnit& sample : samples)
        units.push_back(vector_of(sample));
    expect_committed("units", {{"units", units}, {"aggregate", aggregate_vector(samples)}});
}

}  // namespace
}  // namespace gym::conformance
