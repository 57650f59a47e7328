#include "gym/coordinator/adapters/engine_compute.hpp"

#include <mutex>
#include <optional>

#include "gym/blob/dataset.hpp"
#include "gym/common/assert.hpp"
#include "gym/dispute/round_roots.hpp"
#include "gym/engine/dataset_check.hpp"
#include "gym/engine/encoded_aggregate.hpp"
#include "gym/engine/evaluate.hpp"
#include "gym/engine/memory.hpp"
#include "gym/engine/outer_state.hpp"
#include "gym/engine/record.hpp"
#include "gym/engine/state_index.hpp"
#include "gym/engine/state_layout.hpp"
#include "gym/execution/run.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/train_config_yaml.hpp"
#include "gym/program/train_program.hpp"
#include "gym/registry/job_spec.hpp"

namespace gym::coordinator {
namespace {

static_assert(registry::kJobSlotsMax <= program::kDeltasMax, "a full round can be aggregated");

RootedBytes rooted(const program::Program& value) {
    return {program::program_root(value), program::encode(value)};
}

RootedBytes rooted(const engine::State& value) {
    return {engine::state_root(value), engine::encode_state(value)};
}

/// The training state that it is of, which is larger, is gone again.
Result<engine::State> drawn_base(const program::Program& train, const Digest& job_seed) {
    GYM_TRY(const engine::State initial, engine::initial_state(train, job_seed));
    return engine::base_of(train, initial);
}

/// The base state of round 1.
Result<RootedBytes> first_base(const program::Program& train, const Digest& job_seed,
                               const std::optional<Compute::GivenState>& given) {
    if (!given) {
        GYM_TRY(const engine::State drawn, drawn_base(train, job_seed));
        return rooted(drawn);
    }
    GYM_TRY(const engine::State base, engine::decode_state(given->bytes));
    GYM_CHECK(engine::check_layout(engine::parameter_layout(train), engine::layout_of(base)));
    GYM_CHECK(engine::check_finite(base));
    RootedBytes out = rooted(base);
    if (out.root == given->root) return out;
    return fail(ErrorCode::kMismatch, "the weights have the root " + out.root.hex() +
                                          ", the job begins from " + given->root.hex());
}

/// The outer state of round 1.
Result<RootedBytes> first_outer_state(const program::Program& train) {
    GYM_TRY(engine::StateLayout layout, engine::outer_layout(train));
    GYM_TRY(const engine::StateIndex index, engine::StateIndex::of(std::move(layout)));
    GYM_TRY(Bytes zeros, engine::encoded_zero_outer_state(train));
    const Digest root = engine::state_root(index, zeros);
    return RootedBytes{root, std::move(zeros)};
}

Result<const protocol::SlotAssignment*> slot_of(const protocol::RoundRecord& record,
                                                std::uint32_t slot) {
    const protocol::SlotAssignment* const terms = record.find_slot(slot);
    if (terms != nullptr) return terms;
    return fail(ErrorCode::kMismatch, "the round record has no slot " + std::to_string(slot));
}

class EngineDelta final : public Compute::Delta {
  public:
    explicit EngineDelta(engine::Delta delta) : delta_(std::move(delta)) {}
    [[nodiscard]] double norm() const override { return delta_.norm(); }
    [[nodiscard]] const engine::Delta& decoded() const { return delta_; }

  private:
    const engine::Delta delta_;
};

class EngineCompute final : public Compute {
  public:
    explicit EngineCompute(const EngineComputeOptions& options) {
        engine_.threads = options.threads;
        engine_.isa = options.isa;
    }

    Result<Prepared> prepare(const std::string& spec_yaml, ByteView dataset,
                             const Digest& dataset_root, const Digest& job_seed,
                             const std::optional<GivenState>& given) override {
        GYM_TRY(auto submitted, registry::parse_submitted_spec(spec_yaml, "job file"));
        GYM_TRY(const program::TrainConfig config,
                program::read_train_config(*submitted.spec.model));
        GYM_TRY(const program::Program train, program::train_program(config));
        GYM_TRY(const program::Program evaluation, program::evaluation_program(train));
        // An imported model has its number of windows built in.
        const bool imported = config.model.architecture == program::Architecture::kImported;
        GYM_TRY(const program::Program logits, imported ? program::logits_program(train)
                                                        : program::logits_program(config.model, 1));
        GYM_TRY(const auto tokens, decode_dataset(dataset, dataset_root));
        GYM_CHECK(engine::check_dataset(train, *tokens));
        Prepared out;
        out.program = rooted(train);
        out.evaluate_program = rooted(evaluation);
        out.logits_program = rooted(logits);
        GYM_TRY(out.base, first_base(train, job_seed, given));
        GYM_TRY(out.momentum, first_outer_state(train));
        out.tokens_per_step = std::uint64_t{config.batch} * config.model.context;
        out.flops_per_step = program::flops_per_step(train);
        out.parameters = program::parameter_count(train);
        GYM_TRY(const engine::DeviceNeeds needs, engine::device_needs(train));
        out.worker_memory = {needs.cpu.total(), needs.gpu.total()};
        GYM_TRY(out.delta_bytes, engine::delta_bytes(train));
        return out;
    }

    Result<RoundRoots> round_roots(ByteView program, ByteView base) override {
        GYM_TRY(const auto train, decode_program(program));
        GYM_TRY(const dispute::RoundRoots roots,
                dispute::round_roots(*train, base, engine_.threads));
        return RoundRoots{roots.trace_root, roots.initial_state_root,
                          static_cast<std::uint16_t>(roots.delta_codec)};
    }

    Result<DeltaPtr> check_delta(ByteView program, const blob::BlobStore& store,
                                 const Digest& root) override {
        GYM_TRY(const auto train, decode_program(program));
        GYM_TRY(auto reader, store.open_reader(root));
        GYM_TRY(engine::Delta opened, engine::Delta::open(*train, root, std::move(reader)));
        return DeltaPtr(std::make_shared<const EngineDelta>(std::move(opened)));
    }

    Result<Aggregated> aggregate(ByteView program, Bytes base, Bytes momentum,
                                 const std::vector<DeltaPtr>& deltas, Included included) override {
        GYM_TRY(const auto train, decode_program(program));
        std::vector<engine::Delta> decoded;
        for (const DeltaPtr& delta : deltas) {
            const auto* checked = dynamic_cast<const EngineDelta*>(delta.get());
            GYM_ASSERT(checked != nullptr, "a delta of another Compute");
            decoded.push_back(checked->decoded());
        }
        GYM_TRY(engine::EncodedAggregate made,
                engine::run_encoded_aggregate(*train, std::move(base), std::move(momentum), decoded,
                                              execution::groups_of(included), engine_));
        Aggregated out;
        out.program = rooted(made.program);
        const ByteView update =
            ByteView(made.momentum).subspan(made.update.begin, made.update.size);
        out.update.assign(update.begin(), update.end());
        out.base = {made.roots.base, std::move(made.base)};
        out.momentum = {made.roots.momentum, std::move(made.momentum)};
        out.records = engine::encode_records(made.records);
        out.records_root = made.records_root;
        out.flops = made.flops;
        return out;
    }

    Result<std::uint64_t> evaluation_flops(ByteView evaluate_program,
                                           std::uint32_t windows_max) override {
        GYM_TRY(const auto evaluation, decode_program(evaluate_program));
        return program::evaluation_flops(*evaluation, windows_max);
    }

    Result<Evaluated> evaluate(ByteView evaluate_program, ByteView base, ByteView dataset,
                               const Digest& dataset_root, std::uint32_t windows_max,
                               const std::stop_token& stop) override {
        execution::EvaluationInputs inputs;
        GYM_TRY(inputs.program, decode_program(evaluate_program));
        GYM_TRY(inputs.state, engine::decode_state(base));
        GYM_TRY(inputs.dataset, decode_dataset(dataset, dataset_root));
        GYM_TRY(const execution::EvaluationRun run,
                execution::run_evaluation(inputs, windows_max, engine_,
                                          [&](auto...) { return !stop.stop_requested(); }));
        const engine::Evaluation& result = run.result;
        Evaluated out;
        out.mean_loss = static_cast<double>(result.mean_loss);
        out.records = engine::encode_records(result.records);
        out.records_root = run.records_root;
        out.state_root = run.state_root;
        out.evaluation_root = result.root;
        out.steps = static_cast<std::uint32_t>(result.records.size());
        out.tokens = result.tokens;
        out.flops = run.flops;
        return out;
    }

    Result<Digest> records_root(ByteView records) override {
        GYM_TRY(const auto decoded, engine::decode_records(records));
        return engine::records_root(decoded);
    }

    Result<std::optional<Difference>> first_difference(ByteView committed,
                                                       ByteView recomputed) override {
        GYM_TRY(const auto claimed, engine::decode_records(committed));
        GYM_TRY(const auto computed, engine::decode_records(recomputed));
        const auto difference = engine::find_first_difference(computed, claimed);
        if (!difference) return std::optional<Difference>();
        return std::optional(Difference{difference->step, difference->field});
    }

    Result<Reexecuted> run_unit(const protocol::RoundRecord& record, std::uint32_t slot,
                                ByteView program, ByteView base, ByteView dataset,
                                const crypto::Signature* challenge,
                                const std::stop_token& stop) override {
        GYM_TRY(const protocol::SlotAssignment* const terms, slot_of(record, slot));
        GYM_TRY(const execution::TrainInputs inputs,
                decode_inputs(program, base, dataset, record.dataset_root));
        engine::RunOptions options;
        options.engine = engine_;
        options.cancel = stop;
        GYM_TRY(const execution::TrainRun run,
                execution::run_train(record, *terms, inputs, options, challenge));
        return Reexecuted{run.roots(), run.trace};
    }

    Result<Digest> run_prefix(const protocol::RoundRecord& record, const SlotSteps& prefix,
                              ByteView program, ByteView base, ByteView dataset,
                              const std::stop_token& stop) override {
        GYM_TRY(const protocol::SlotAssignment* const terms, slot_of(record, prefix.slot));
        GYM_TRY(const execution::TrainInputs inputs,
                decode_inputs(program, base, dataset, record.dataset_root));
        engine::StepOptions options;
        options.engine = engine_;
        options.cancel = stop;
        return execution::run_prefix(record, *terms, prefix.steps, inputs, options);
    }

    Result<Digest> records_trace(ByteView records, const crypto::Signature& challenge) override {
        GYM_TRY(const auto decoded, engine::decode_records(records));
        return execution::records_trace(decoded, challenge);
    }

  private:
    Result<execution::TrainInputs> decode_inputs(ByteView program, ByteView base, ByteView dataset,
                                                 const Digest& dataset_root) {
        execution::TrainInputs out;
        GYM_TRY(out.program, decode_program(program));
        GYM_TRY(out.dataset, decode_dataset(dataset, dataset_root));
        GYM_TRY(out.base, engine::decode_state(base));
        return out;
    }
    Result<std::shared_ptr<const blob::Dataset>> decode_dataset(ByteView bytes,
                                                                const Digest& root) {
        const std::lock_guard lock(mutex_);
        if (dataset_ && dataset_->root() == root) return dataset_;
        GYM_TRY(blob::Dataset decoded, blob::Dataset::decode(bytes, root));
        dataset_ = std::make_shared<const blob::Dataset>(std::move(decoded));
        return dataset_;
    }

    Result<std::shared_ptr<const program::Program>> decode_program(ByteView bytes) {
        const std::lock_guard lock(mutex_);
        if (program_ &&
            std::equal(bytes.begin(), bytes.end(), program_bytes_.begin(), program_bytes_.end()))
            return program_;
        GYM_TRY(program::Program decoded, program::decode(bytes));
        program_bytes_.assign(bytes.begin(), bytes.end());
        program_ = std::make_shared<const program::Program>(std::move(decoded));
        return program_;
    }

    engine::EngineOptions engine_;
    std::mutex mutex_;  // guards the decoded inputs below
    std::shared_ptr<const blob::Dataset> dataset_;
    std::shared_ptr<const program::Program> program_;
    Bytes program_bytes_;
};

}  // namespace

std::unique_ptr<Compute> make_engine_compute(const EngineComputeOptions& options) {
    return std::make_unique<EngineCompute>(options);
}

}  // namespace gym::coordinator
