// tests/vectors/conformance/units.json: programs from YAML to bytes, and units of training from
// seed and dataset to records, states, deltas and traces.
#include <gtest/gtest.h>

#include <span>

#include "gym/commit/merkle.hpp"
#include "gym/dispute/trace_program.hpp"
#include "gym/engine/evaluate.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_config_yaml.hpp"
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
            {"base_blob", blob::blob_root(encode_state(sample.base)).hex()},
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

/// Outer steps over the deltas of two units. @param more what their model file says besides.
json::object aggregate_vector(std::span<const SampleUnit, 2> samples,
                              const program::DeltaGroups& groups, const std::string& more = "") {
    const std::string yaml = samples[0].yaml + more;
    const auto config = program::parse_train_config(yaml, "a model file").value();
    const program::Program train = program::train_program(config).value();
    const engine::State& base = samples[0].base;
    std::vector<engine::Delta> deltas;
    for (std::size_t i = 0; i < 2; ++i)
        deltas.push_back(engine::Delta::decode(train, run(samples[i]).unit.delta).value());
    const auto first = engine::run_aggregate(train, base, {}, deltas, groups).value();
    const auto second =
        engine::run_aggregate(train, first.base, first.momentum, deltas, groups).value();
    json::array steps;
    for (const engine::AggregateResult* result : {&first, &second})
        steps.emplace_back(
            json::object{{"record", to_hex(encode_step_record(result->records[0]))},
                         {"records_root", result->records_root.hex()},
                         {"final_state_root", result->base_root.hex()},
                         {"delta_root", result->momentum_root.hex()},
                         {"base_blob", blob::blob_root(encode_state(result->base)).hex()},
                         {"outer_blob", blob::blob_root(encode_state(result->momentum)).hex()},
                         {"flops", result->flops}});
    return {{"deltas_of", {samples[0].name, samples[1].name}},
            {"held", program::packed(groups)},
            {"yaml", yaml},
            {"program", program_vector(first.program)},
            {"steps", steps}};
}

TEST(ConformanceVectors, OfUnitsAreWhatTheEngineComputes) {
    const std::vector<SampleUnit> samples = sample_units();
    const auto first_two = std::span(samples).first<2>();
    const auto last_two = std::span(samples).last<2>();
    json::array units;
    for (const SampleUnit& sample : samples)
        units.push_back(vector_of(sample));
    expect_committed("units",
                     {{"units", units},
                      {"aggregate", aggregate_vector(first_two, 0)},
                      {"held_aggregate", aggregate_vector(first_two, 1)},
                      {"withdrawn_aggregate", aggregate_vector(first_two, {0, 1, 0})},
                      {"dense_aggregate", aggregate_vector(last_two, 0)},
                      {"update_aggregate", aggregate_vector(last_two, 1, "update: dense-4bit\n")}});
}

/// The programs of tests/vectors/trace_roots.txt (tests/unit/dispute/sample_programs.hpp), too
/// large to be run in Python, as model files.
constexpr const char* kDecoder = "  vocabulary: 256\n  layers: 1\n  width: 24\n  init_std: 0.05\n";
constexpr const char* kFull =
    "optimizer:\n  learning_rate: 0.003\n  guard:\n    loss_factor: 3\nbatch: 4\nmicro_batches: "
    "2\n";
constexpr const char* kPlain = "optimizer:\n  learning_rate: 0.003\nbatch: 2\n";
constexpr const char* kLlama =
    "  architecture: llama\n  context: 12\n  heads: 6\n  kv_heads: 2\n  hidden_width: 40\n";

constexpr const char* kEncoder =
    "  architecture: bert\n  context: 12\n  heads: 2\n  hidden_width: 40\n";

std::vector<std::pair<std::string, std::string>> model_files() {
    const std::string model = "model:\n";
    return {
        {"gpt", model + kDecoder + "  context: 16\n  heads: 2\n" + kPlain},
        {"llama", model + kDecoder + kLlama + kPlain},
        {"full", model + kDecoder + kLlama + "  dropout: 0.2\n" + kFull},
        {"classifier",
         model + kDecoder + "  context: 11\n  heads: 2\n  classes: 200\n  dropout: 0.2\n" + kFull},
        {"mlp", model + "  architecture: mlp\n  levels: 256\n  features: 9\n  layers: 2\n"
                        "  width: 16\n  classes: 200\nbatch: 4\n"},
        {"dense", model + "  architecture: mlp\n  levels: 256\n  features: 9\n  layers: 2\n"
                          "  width: 16\n  classes: 200\nbatch: 4\ncompression: dense-4bit\n"},
        {"update", model + "  architecture: mlp\n  levels: 256\n  features: 9\n  layers: 2\n"
                           "  width: 16\n  classes: 200\nbatch: 4\ncompression: dense-4bit\n"
                           "update: dense-4bit\n"},
        {"qwen2", model + kDecoder + kLlama + "  qkv_bias: true\n  rope_theta: 1000000\n" + kPlain},
        {"wide_heads",
         model + kDecoder + kLlama + "  head_width: 6\n  tied_embeddings: false\n" + kPlain},
        {"linear", model + kDecoder + kLlama + "  rope_scaling:\n    type: linear\n" +
                       "    factor: 2.5\n" + kPlain},
        {"llama3", model + kDecoder + kLlama + "  head_width: 6\n  rope_scaling:\n" +
                       "    type: llama3\n    factor: 8\n    original_context: 512\n" + kFull},
        {"masked", model + kDecoder + kEncoder + "  dropout: 0.2\n" + kFull},
        {"embed",
         model + kDecoder + kEncoder + "  task: embed\n  passages: 2\n  dropout: 0.2\n" + kFull},
        {"rerank", model + kDecoder + kEncoder +
                       "  task: rerank\n  passages: 3\n  pooling: mean\n  dropout: 0.2\n" + kFull},
        {"classify", model + kDecoder + kEncoder + "  task: classify\n  classes: 5\n" + kPlain},
        {"qk_norm", model + kDecoder + kLlama + "  qk_norm: true\n" + kPlain},
        {"documents",
         model + kDecoder + kLlama + "  dropout: 0.2\n  document_separator: 10\n" + kFull},
        {"documents_gpt",
         model + kDecoder + "  context: 16\n  heads: 2\n  document_separator: 0\n" + kPlain},
        {"padded_llama", model + kDecoder + kLlama + "  padding_token: 255\n" + kFull},
        {"padded_masked", model + kDecoder + kEncoder + "  padding_token: 0\n" + kFull},
        {"padded_embed", model + kDecoder + kEncoder +
                             "  task: embed\n  passages: 2\n  pooling: mean\n  padding_token: 0\n" +
                             kPlain},
        {"padded_rerank", model + kDecoder + kEncoder +
                              "  task: rerank\n  passages: 3\n  dropout: 0.2\n"
                              "  padding_token: 7\n" +
                              kFull}};
}

TEST(ConformanceVectors, OfModelFilesAreWhatTheProductMakes) {
    json::array programs;
    for (const auto& [name, yaml] : model_files()) {
        const auto program =
            program::train_program(program::parse_train_config(yaml, name).value()).value();
        programs.emplace_back(json::object{
            {"name", name},
            {"yaml", yaml},
            {"root", program::program_root(program).hex()},
            {"trace_header", to_hex(encode(dispute::trace_program(program).value().header))},
            {"trace_root",
             dispute::trace_root(dispute::trace_program(program).value().header).hex()},
            {"flops", program::flops_per_step(program)}});
    }
    expect_committed("programs", {{"programs", programs}});
}

}  // namespace
}  // namespace gym::conformance
