// gym-coordinator with a fault: one bit of every aggregate's first parameter is flipped before it
// is signed. Its referee has the same fault; what it runs again for a game on chain has not.
// With the variable GYM_FAULT=leaves-out it has another one: to it, the first delta that comes is
// too long for every aggregate.

#include <cstdlib>
#include <mutex>
#include <optional>
#include <string_view>

#include "coordinator_program.hpp"
#include "gym/common/assert.hpp"
#include "gym/engine/state.hpp"

namespace {

using namespace gym;
using coordinator::Compute;

class RightCompute : public Compute {
  public:
    explicit RightCompute(std::unique_ptr<Compute> engine) : engine_(std::move(engine)) {}

    Result<Prepared> prepare(const std::string& spec_yaml, ByteView dataset,
                             const Digest& dataset_root, const Digest& job_seed,
                             const std::optional<GivenState>& given) override {
        return engine_->prepare(spec_yaml, dataset, dataset_root, job_seed, given);
    }
    Result<RoundRoots> round_roots(ByteView program, ByteView base) override {
        return engine_->round_roots(program, base);
    }
    Result<DeltaPtr> check_delta(ByteView program, const blob::BlobStore& store,
                                 const Digest& root) override {
        return engine_->check_delta(program, store, root);
    }
    Result<Aggregated> aggregate(ByteView program, Bytes base, Bytes momentum,
                                 const std::vector<DeltaPtr>& deltas, Included included) override {
        return engine_->aggregate(program, std::move(base), std::move(momentum), deltas, included);
    }
    Result<Evaluated> evaluate(ByteView evaluate_program, ByteView base, ByteView dataset,
                               const Digest& dataset_root, std::uint32_t windows_max,
                               const std::stop_token& stop) override {
        return engine_->evaluate(evaluate_program, base, dataset, dataset_root, windows_max, stop);
    }
    Result<std::uint64_t> evaluation_flops(ByteView evaluate_program,
                                           std::uint32_t windows_max) override {
        return engine_->evaluation_flops(evaluate_program, windows_max);
    }
    Result<Digest> records_root(ByteView records) override {
        return engine_->records_root(records);
    }
    Result<std::optional<Difference>> first_difference(ByteView committed,
                                                       ByteView recomputed) override {
        return engine_->first_difference(committed, recomputed);
    }
    Result<Reexecuted> run_unit(const protocol::RoundRecord& record, std::uint32_t slot,
                                ByteView program, ByteView base, ByteView dataset,
                                const crypto::Signature* challenge,
                                const std::stop_token& stop) override {
        return engine_->run_unit(record, slot, program, base, dataset, challenge, stop);
    }
    Result<Digest> run_prefix(const protocol::RoundRecord& record, const SlotSteps& prefix,
                              ByteView program, ByteView base, ByteView dataset,
                              const std::stop_token& stop) override {
        return engine_->run_prefix(record, prefix, program, base, dataset, stop);
    }
    Result<Digest> records_trace(ByteView records, const crypto::Signature& challenge) override {
        return engine_->records_trace(records, challenge);
    }

  private:
    std::unique_ptr<Compute> engine_;
};

class WrongAggregates final : public RightCompute {
  public:
    using RightCompute::RightCompute;
    Result<Aggregated> aggregate(ByteView program, Bytes base, Bytes momentum,
                                 const std::vector<DeltaPtr>& deltas, Included included) override {
        GYM_TRY(Aggregated out, RightCompute::aggregate(program, std::move(base),
                                                        std::move(momentum), deltas, included));
        GYM_TRY(engine::State state, engine::decode_state(out.base.bytes));
        state.tensors.at(0).bytes.at(2) ^= 1;
        out.base = {engine::state_root(state), engine::encode_state(state)};
        return out;
    }
};

/// Needs a job with a `delta_norm_max`.
class LeavesOut final : public RightCompute {
  public:
    using RightCompute::RightCompute;
    Result<DeltaPtr> check_delta(ByteView program, const blob::BlobStore& store,
                                 const Digest& root) override {
        GYM_TRY(DeltaPtr right, RightCompute::check_delta(program, store, root));
        const std::scoped_lock lock(mutex_);
        if (!unwanted_) unwanted_ = root;
        if (*unwanted_ != root) return right;
        return DeltaPtr(std::make_shared<const TooLong>());
    }

  private:
    struct TooLong final : Delta {
        [[nodiscard]] double norm() const override { return 1e30; }
    };
    std::mutex mutex_;
    std::optional<Digest> unwanted_;
};

}  // namespace

int main(int argc, char** argv) {
    const char* const fault = std::getenv("GYM_FAULT");
    const bool leaves_out = fault != nullptr && std::string_view(fault) == "leaves-out";
    return app::run_coordinator(argc, argv,
                                [=](std::unique_ptr<Compute> engine) -> std::unique_ptr<Compute> {
                                    if (leaves_out)
                                        return std::make_unique<LeavesOut>(std::move(engine));
                                    return std::make_unique<WrongAggregates>(std::move(engine));
                                });
}
