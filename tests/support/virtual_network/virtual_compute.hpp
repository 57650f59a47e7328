#pragma once

#include <functional>
#include <utility>

#include "fake_compute.hpp"
#include "settings.hpp"

namespace gym::sim {

/// The coordinator's computations: results by hashing (FakeCompute), sizes and durations of the
/// model that they stand for.
class VirtualCompute final : public coordinator::Compute {
  public:
    /// Lets virtual time pass while the coordinator computes.
    using Spend = std::function<void(double seconds)>;
    VirtualCompute(const Settings& settings, Spend spend)
        : settings_(settings), spend_(std::move(spend)) {}

    Result<Prepared> prepare(const std::string& spec_yaml, ByteView dataset,
                             const Digest& dataset_root, const Digest& job_seed,
                             const std::optional<GivenState>& given) override;
    Result<RoundRoots> round_roots(ByteView program, ByteView base) override;
    Result<DeltaPtr> check_delta(ByteView program, const blob::BlobStore& store,
                                 const Digest& root) override {
        return fake_.check_delta(program, store, root);
    }
    Result<Aggregated> aggregate(ByteView program, Bytes base, Bytes momentum,
                                 const std::vector<DeltaPtr>& deltas, Included included) override;
    Result<Evaluated> evaluate(ByteView evaluate_program, ByteView base, ByteView dataset,
                               const Digest& dataset_root, std::uint32_t windows_max,
                               const std::stop_token& stop) override;
    Result<std::uint64_t> evaluation_flops(ByteView evaluate_program,
                                           std::uint32_t windows_max) override {
        return fake_.evaluation_flops(evaluate_program, windows_max);
    }
    Result<Digest> records_root(ByteView records) override { return fake_.records_root(records); }
    Result<std::optional<Difference>> first_difference(ByteView committed,
                                                       ByteView recomputed) override {
        return fake_.first_difference(committed, recomputed);
    }
    Result<Reexecuted> run_unit(const protocol::RoundRecord& record, std::uint32_t slot,
                                ByteView program, ByteView base, ByteView dataset,
                                const crypto::Signature* challenge,
                                const std::stop_token& stop) override;
    Result<Digest> run_prefix(const protocol::RoundRecord& record, const SlotSteps& prefix,
                              ByteView program, ByteView base, ByteView dataset,
                              const std::stop_token& stop) override {
        spend_(static_cast<double>(record.flops_per_step) * prefix.steps /
               settings_.operator_flops);
        return fake_.run_prefix(record, prefix, program, base, dataset, stop);
    }
    Result<Digest> records_trace(ByteView records, const crypto::Signature& challenge) override {
        return fake_.records_trace(records, challenge);
    }

    /// The same without a duration, for nodes that compute it, too.
    testing::FakeCompute& fake() { return fake_; }
    /// Seconds of the outer step on so many threads.
    static double aggregate_seconds(const Settings& settings, std::size_t deltas, unsigned threads);
    static double evaluate_flops(const Settings& settings, std::uint32_t windows);

  private:
    const Settings& settings_;
    const Spend spend_;
    testing::FakeCompute fake_;
};

}  // namespace gym::sim
