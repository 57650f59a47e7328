#pragma once

#include <atomic>
#include <initializer_list>
#include <map>
#include <stop_token>
#include <string_view>

#include "gym/coordinator/compute.hpp"
#include "gym/protocol/unit_record.hpp"

namespace gym::testing {

/// SHA-256 over `tag` and `parts`.
Digest tagged(std::string_view tag, std::initializer_list<ByteView> parts);
Bytes bytes_of(const Digest& digest);

inline constexpr std::uint64_t kFakeWorkerMemoryBytes = std::uint64_t{3} << 30;
inline constexpr std::uint64_t kFakeWorkerGpuMemoryBytes = std::uint64_t{4} << 30;

/// Training by hashing: records, states and deltas are functions of their inputs, nothing is
/// learned. A record list is one byte per step.
class FakeCompute final : public coordinator::Compute {
  public:
    static constexpr std::uint64_t kFlopsPerStep = 1'000'000;
    Result<Prepared> prepare(const std::string& spec_yaml, ByteView dataset,
                             const Digest& dataset_root, const Digest& job_seed,
                             const std::optional<GivenState>& given) override;
    Result<RoundRoots> round_roots(ByteView program, ByteView base) override;
    Result<DeltaPtr> check_delta(ByteView program, const blob::BlobStore& store,
                                 const Digest& root) override;
    Result<Aggregated> aggregate(ByteView program, Bytes base, Bytes momentum,
                                 const std::vector<DeltaPtr>& deltas, Included included) override;
    Result<Evaluated> evaluate(ByteView evaluate_program, ByteView base, ByteView dataset,
                               const Digest& dataset_root, std::uint32_t windows_max,
                               const std::stop_token& stop) override;
    Result<std::uint64_t> evaluation_flops(ByteView, std::uint32_t) override {
        return kFlopsPerStep;
    }
    Result<Digest> records_root(ByteView records) override;
    Result<std::optional<Difference>> first_difference(ByteView committed,
                                                       ByteView recomputed) override;
    Result<Reexecuted> run_unit(const protocol::RoundRecord& record, std::uint32_t slot,
                                ByteView program, ByteView base, ByteView dataset,
                                const crypto::Signature* challenge,
                                const std::stop_token& stop) override;
    Result<Digest> run_prefix(const protocol::RoundRecord& record, const SlotSteps& prefix,
                              ByteView program, ByteView base, ByteView dataset,
                              const std::stop_token& stop) override;
    Result<Digest> records_trace(ByteView records, const crypto::Signature& challenge) override;
    /// Of the evaluation of a state.
    static Bytes evaluation_records(ByteView base);
    static Digest evaluation_root(ByteView base);
    /// Values at a challenge's positions that only a run of the unit gives.
    static Digest trace(ByteView records, const crypto::Signature& challenge);

    std::atomic<std::uint32_t> evaluations{0};  ///< calls of evaluate()

    struct Trained {
        Bytes records;
        Bytes delta;
        Digest final_state;
    };
    /// The honest result of a slot.
    static Trained train(const protocol::RoundTerms& round, const protocol::SlotAssignment& slot);
    /// @pre the record has a slot.
    static Trained train(const protocol::UnitRecord& record);

    /// The honest link after the first steps of a slot.
    static Digest link(const protocol::RoundRecord& record, const SlotSteps& prefix);
    /// Of the first steps of the unit. @pre the record has a slot.
    static Digest link(const protocol::UnitRecord& record, std::uint32_t steps);

    std::map<Digest, double> norms;  ///< by a delta's root; of others 1
    bool aggregate_fails = false;
    bool wrong_losses = false;           ///< of evaluations
    bool updates = false;                ///< aggregates publish one
    bool runs_fail = false;              ///< for a while
    std::atomic<bool> runs_wait{false};  ///< until this is false, or they are told to stop
    std::atomic<std::uint32_t> runs{0};  ///< calls of run_unit() that began
};

}  // namespace gym::testing
