#include "gym/coordinator/adapters/engine_compute.hpp"

#include <mutex>
#include <optional>

#include "gym/blob/dataset.hpp"
#include "gym/common/assert.hpp"
#include "gym/dispute/round_roots.hpp"
#include "gym/engine/dataset_check.hpp"
#include "gym/engine/evaluate.hpp"
#include "gym/engine/memory.hpp"
#include "gym/engine/outer_state.hpp"
#include "gym/engine/record.hpp"
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

Result<engine::State> decode_and_release(Bytes encoded) {
    return engine::decode_state(encoded);
}

Bytes encode_and_release(engine::State&& state) {
    const engine::State owned = std::move(state);
    return engine::encode_state(owned);
}

/// The base state of round 1.
Result<engine::State> first_base(const program::Program& train, const Digest& job_seed,
                                 const std::optional<Compute::GivenState>& given) {
    if (!given) {
        GYM_TRY(const engine::State initial, engine::initial_state(train, job_seed));
        return engine::base_of(train, initial);
    }
    GYM_TRY(engine::State base, engine::decode_state(given->bytes));
    GYM_CHECK(engine::check_layout(engine::parameter_layout(train), engine::layout_of(base)));
    GYM_CHECK(engine::check_finite(base));
    const Digest root = engine::state_root(base);
    if (root == given->root) return base;
    return fail(ErrorCode::kMismatch, "the weights have the root " + root.hex() +
                                          ", the job begins from " + given->root.hex());
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
        GYM_TRY(const engine::State base, first_base(train, job_seed, given));
        Prepared out;
        out.program = rooted(train);
        out.evaluate_program = rooted(evaluation);
        out.logits_program = rooted(logits);
        out.base = rooted(base);
        GYM_TRY(const engine::State outer, engine::zero_outer_state(train, base));
        out.momentum = rooted(outer);
        out.tokens_per_step = std::uint64_t{config.batch} * config.model.context;
        out.flops_per_step = program::flops_per_step(train);
        out.parameters = program::parameter_count(train);
        GYM_TRY(const engine::MemoryNeed need, engine::memory_need(train));
        out.worker_memory_bytes = need.total();
        GYM_TRY(out.delta_bytes, engine::delta_bytes(train));
        return out;
    }

    Result<RoundRoots> round_roots(ByteView program, ByteView base) override {
        GYM_TRY(const auto train, decode_program(program));
        GYM_TRY(const engine::State from, engine::decode_state(base));
        GYM_TRY(const dispute::RoundRoots roots,
                dispute::round_roots(*train, from, engine_.threads));
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
        execution::AggregateInputs inputs;
        inputs.groups = execution::groups_of(included);
        GYM_TRY(inputs.program, decode_program(program));
        GYM_TRY(inputs.base, decode_and_release(std::move(base)));
        GYM_TRY(inputs.momentum, decode_and_release(std::move(momentum)));
        for (const DeltaPtr& delta : deltas) {
            const auto* checked = dynamic_cast<const EngineDelta*>(delta.get());
            GYM_ASSERT(checked != nullptr, "a delta of another Compute");
            inputs.deltas.push_back(checked->decoded());
        }
        GYM_TRY(execution::AggregateRun run, execution::run_aggregate(std::move(inputs), engine_));
        engine::AggregateResult& result = run.result;
        Aggregated out;
        out.program = rooted(result.program);
        const ByteView update = engine::update_of(result.momentum);
        out.update.assign(update.begin(), update.end());
        out.base = {result.base_root, encode_and_release(std::move(result.base))};
        out.momentum = {result.momentum_root, encode_and_release(std::move(result.momentum))};
        out.records = engine::encode_records(result.records);
        out.records_root = result.records_root;
        out.flops = result.flops;
        return out;
    }

    Result<double> evaluate(ByteView evaluate_program, ByteView base, ByteView dataset,
                            const Digest& dataset_root, std::uint32_t windows_max) override {
        GYM_TRY(const program::Program evaluation, program::decode(evaluate_program));
        GYM_TRY(const engine::State state, engine::decode_state(base));
        GYM_TRY(const auto tokens, decode_dataset(dataset, dataset_root));
        GYM_TRY(const engine::Evaluation result,
                engine::evaluate(evaluation, state, *tokens, windows_max, engine_));
        return static_cast<double>(result.mean_loss);
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

    Result<Digest> aggregate_trace(ByteView records, const crypto::Signature& challenge) override {
        GYM_TRY(const auto decoded, engine::decode_records(records));
        return execution::aggregate_trace(decoded, challenge);
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
