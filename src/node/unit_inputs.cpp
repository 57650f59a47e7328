#include "gym/node/unit_inputs.hpp"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "gym/commit/tensor_root.hpp"
#include "gym/common/plural.hpp"
#include "gym/dispute/round_roots.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_program.hpp"
#include "gym/program/update_codec.hpp"
#include "updated_base.hpp"

namespace gym::node {
namespace {

Error differs(std::string_view what, const Digest& actual, const Digest& expected) {
    return fail(ErrorCode::kMismatch, "the " + std::string(what) + " has root " + actual.hex() +
                                          ", the round record fixes " + expected.hex());
}

/// Tokens that one step trains on: targets of the batch input (windows, context + 1).
Result<std::uint64_t> tokens_per_step(const program::Program& train) {
    const program::SlotId batch = train.find_slot(program::kBatchInput);
    if (batch == program::kNoSlot || train.slot(batch).dims.size() != 2)
        return fail(ErrorCode::kMismatch, "the program has no (windows, tokens) batch input");
    const program::Dims& dims = train.slot(batch).dims;
    return std::uint64_t{dims[0]} * (dims[1] - 1);
}

/// The record's figures about the program must be the program's: a commitment repeats them, and a
/// wrong figure there would be this worker's fault.
Status check_counted(const protocol::RoundTerms& record, const program::Program& train) {
    GYM_TRY(const std::uint64_t tokens, tokens_per_step(train));
    if (tokens != record.tokens_per_step)
        return fail(ErrorCode::kMismatch,
                    "the round record counts " + std::to_string(record.tokens_per_step) +
                        " tokens a step, the program " + std::to_string(tokens));
    const std::uint64_t flops = program::flops_per_step(train);
    if (flops != record.flops_per_step)
        return fail(ErrorCode::kMismatch,
                    "the round record counts " + std::to_string(record.flops_per_step) +
                        " FLOPs a step, the program " + std::to_string(flops));
    return {};
}

/// A dispute goes by these: with wrong ones honest work could be proven false.
Status check_dispute_roots(const protocol::RoundTerms& record, const program::Program& train,
                           const engine::State& base) {
    GYM_TRY(const dispute::RoundRoots roots, dispute::round_roots(train, base));
    if (roots.trace_root != record.trace_root)
        return differs("trace program", roots.trace_root, record.trace_root);
    if (roots.initial_state_root != record.initial_state_root)
        return differs("training state before the first step", roots.initial_state_root,
                       record.initial_state_root);
    const auto codec = static_cast<std::uint16_t>(roots.delta_codec);
    if (codec != record.delta_codec)
        return fail(ErrorCode::kMismatch, "the round record names delta codec " +
                                              std::to_string(record.delta_codec) +
                                              ", the program " + std::to_string(codec));
    return {};
}

}  // namespace

Result<execution::TrainInputs> InputLoader::load_train(const protocol::RoundTerms& record,
                                                       const protocol::SlotAssignment& slot,
                                                       const records::UnitInputs& inputs,
                                                       const rpc::BlobCache::Progress& progress) {
    if (slot.steps > engine::kUnitStepsMax)
        return fail(ErrorCode::kOutOfRange,
                    "a unit of " + std::to_string(slot.steps) + " steps, at most " +
                        std::to_string(engine::kUnitStepsMax) + " are allowed");
    execution::TrainInputs out;
    GYM_TRY(out.program, load_program(record, inputs.program_blob, progress));
    GYM_CHECK(check_counted(record, *out.program));
    GYM_TRY(out.dataset, load_dataset(record, inputs, progress));
    GYM_TRY(out.base, load_base(record, *out.program, inputs, progress));
    return out;
}

Result<std::shared_ptr<const blob::Dataset>> InputLoader::load_dataset(
    const protocol::RoundTerms& record, const records::UnitInputs& inputs,
    const rpc::BlobCache::Progress& progress) {
    if (dataset_ && dataset_->root() == record.dataset_root) return dataset_;
    if (!inputs.dataset_blob) return fail(ErrorCode::kMalformed, "the unit names no dataset");
    GYM_TRY(const auto content,
            cache_.fetch(*inputs.dataset_blob, progress, rpc::BlobCache::Audience::kMany));
    GYM_TRY(blob::Dataset dataset, blob::Dataset::decode(content.bytes(), record.dataset_root));
    dataset_ = std::make_shared<const blob::Dataset>(std::move(dataset));
    return dataset_;
}

Result<engine::State> InputLoader::load_base(const protocol::RoundTerms& record,
                                             const program::Program& train,
                                             const records::UnitInputs& inputs,
                                             const rpc::BlobCache::Progress& progress) {
    GYM_TRY(const program::UpdateCodec update, program::update_codec(train));
    const bool has_updates = update != program::UpdateCodec::kNone;
    if (has_updates) GYM_CHECK(make_base(record, train, inputs, progress));
    GYM_TRY(engine::State base,
            load_state(inputs.base_state_blob, record.base_state_root, progress));
    GYM_CHECK(check_dispute_roots(record, train, base));
    if (has_updates || keep_ == Keep::kAllJobs) keep_base(record, inputs.base_state_blob);
    return base;
}

/// What is not kept is fetched again: no reason to stop the unit.
void InputLoader::keep_base(const protocol::RoundTerms& record, const Digest& blob) {
    const auto released = kept_.keep(record.job_id, record.round, blob);
    if (released.ok())
        released_.insert(released_.end(), released->begin(), released->end());
    else
        spdlog::warn("base states of this job are not kept: {}", released.error().message);
}

Status InputLoader::make_base(const protocol::RoundTerms& record, const program::Program& train,
                              const records::UnitInputs& inputs,
                              const rpc::BlobCache::Progress& progress) {
    const auto made = updated_base(cache_, train, inputs, progress);
    const std::string name = "the base state of round " + std::to_string(record.round);
    if (made.ok()) {
        if (*made > 0)
            spdlog::info("{} is made of an earlier one by {}", name, counted(*made, "update"));
        return {};
    }
    if (made.error().code == ErrorCode::kCancelled) return made.error();
    spdlog::warn("{} is fetched whole: {}", name, made.error().message);
    return {};
}

Result<std::shared_ptr<const program::Program>> InputLoader::load_program(
    const protocol::RoundTerms& record, const Digest& program_blob,
    const rpc::BlobCache::Progress& progress) {
    if (program_ && program_root_ == record.program_root) return program_;
    GYM_TRY(const auto content, cache_.fetch(program_blob, progress));
    GYM_TRY(program::Program decoded, program::decode(content.bytes()));
    const Digest root = program::program_root(decoded);
    if (root != record.program_root) return differs("program", root, record.program_root);
    program_ = std::make_shared<const program::Program>(std::move(decoded));
    program_root_ = root;
    return program_;
}

Result<engine::State> InputLoader::load_state(const Digest& blob, const Digest& root,
                                              const rpc::BlobCache::Progress& progress) {
    GYM_TRY(const auto content, cache_.fetch(blob, progress, rpc::BlobCache::Audience::kMany));
    GYM_TRY(engine::State state, engine::decode_state(content.bytes()));
    const Digest actual = engine::state_root(state);
    if (actual != root) return differs("base state", actual, root);
    return state;
}

}  // namespace gym::node
