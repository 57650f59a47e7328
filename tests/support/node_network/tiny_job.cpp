#include "tiny_job.hpp"

#include "gym/commit/sha256.hpp"
#include "gym/dispute/round_roots.hpp"
#include "gym/engine/outer_state.hpp"
#include "gym/execution/run.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_program.hpp"

namespace gym::testing {
namespace {

program::TrainConfig tiny_config(program::UpdateCodec update) {
    program::TrainConfig config;
    config.update = update;
    if (update != program::UpdateCodec::kNone) config.compression = program::DeltaCodec::kDense;
    config.model.context = 16;
    config.model.layers = 1;
    config.model.heads = 2;
    config.model.width = 16;
    config.batch = 2;
    return config;
}

blob::Dataset tiny_text() {
    Bytes text;
    for (Digest block = commit::sha256(as_bytes("text")); text.size() < 4'000;
         block = commit::sha256(block.view()))
        text.insert(text.end(), block.data.begin(), block.data.end());
    return blob::Dataset::build_from_text(text).value();
}

}  // namespace

TinyJob make_tiny_job(const std::vector<Address>& workers, blob::BlobStore& blobs,
                      std::uint32_t steps, program::UpdateCodec update) {
    program::Program train = program::train_program(tiny_config(update)).value();
    blob::Dataset dataset = tiny_text();
    const Digest seed = commit::sha256(as_bytes("seed"));
    engine::State base = engine::base_of(train, engine::initial_state(train, seed).value()).value();
    protocol::RoundRecord record;
    record.job_id = commit::sha256(as_bytes("job"));
    record.round = 1;
    record.base_state_root = engine::state_root(base);
    record.momentum_root = engine::state_root(engine::zero_outer_state(train, base).value());
    record.program_root = program::program_root(train);
    record.dataset_root = dataset.root();
    record.job_seed = seed;
    const dispute::RoundRoots roots = dispute::round_roots(train, base).value();
    record.trace_root = roots.trace_root;
    record.initial_state_root = roots.initial_state_root;
    record.delta_codec = static_cast<std::uint16_t>(roots.delta_codec);
    record.checkpoint_every = 2;
    record.tokens_per_step = 2 * 16;
    record.flops_per_step = program::flops_per_step(train);
    for (std::uint32_t slot = 0; slot < workers.size(); ++slot)
        record.slots.push_back({slot, workers[slot], kPpm, steps});
    records::UnitInputs inputs;
    inputs.program_blob = blobs.put(program::encode(train)).value();
    inputs.dataset_blob = blobs.put(dataset.encode()).value();
    inputs.base_state_blob = blobs.put(engine::encode_state(base)).value();
    return {std::move(train), std::move(dataset), std::move(base), std::move(record), inputs};
}

engine::UnitResult TinyJob::run(std::uint32_t slot) const {
    return engine::run_unit(
               {program, base, dataset, execution::unit_spec(record, record.slots.at(slot))})
        .value();
}

protocol::UnitCommitment TinyJob::commitment(std::uint32_t slot,
                                             const engine::UnitResult& result) const {
    protocol::UnitCommitment out;
    out.round_record = protocol::hash(record);
    out.slot = slot;
    out.records_root = result.records_root;
    out.final_state_root = result.final_state_root;
    out.delta_root = result.delta.root();
    out.steps = record.slots.at(slot).steps;
    out.tokens = result.tokens;
    out.flops = result.flops;
    return out;
}

crypto::PrivateKey test_key(std::uint8_t number) {
    Bytes bytes(32, 0);
    bytes[0] = 1;
    bytes[31] = number;
    return crypto::PrivateKey::from_bytes(bytes).value();
}

}  // namespace gym::testing
