#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "gym/blob/dataset.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/state.hpp"
#include "gym/engine/unit.hpp"
#include "gym/execution/run.hpp"
#include "gym/node/kept_bases.hpp"
#include "gym/program/program.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/records/task.hpp"
#include "gym/rpc/blob_cache.hpp"

namespace gym::node {

/// Loads the inputs of units, and keeps the last program and dataset decoded. Not thread-safe.
class InputLoader {
  public:
    /// The jobs whose base states stay for two rounds (KeptBases).
    enum class Keep {
        kJobsWithUpdates,  ///< the next one is made of them
        kAllJobs,          ///< for nodes that cannot tell which unit of a round is their last
    };
    /// `cache` must outlive the loader.
    explicit InputLoader(rpc::BlobCache& cache, Keep keep = Keep::kJobsWithUpdates)
        : cache_(cache), kept_(cache.directory() / "bases"), keep_(keep) {}

    /// @errors kMismatch when a blob is not what the record fixes (roots, tokens and FLOPs per
    /// step, codec); kOutOfRange for more steps than allowed; those of BlobCache::fetch and of the
    /// decoders.
    Result<execution::TrainInputs> load_train(const protocol::RoundTerms& record,
                                              const protocol::SlotAssignment& slot,
                                              const records::UnitInputs& inputs,
                                              const rpc::BlobCache::Progress& progress = {});
    /// A round's base state; trace root and initial state root of the record are what program and
    /// base state give. It is made out of an earlier one where there is one on disk and the inputs
    /// have the updates since, else fetched. @errors as above.
    Result<engine::State> load_base(const protocol::RoundTerms& record,
                                    const program::Program& train,
                                    const records::UnitInputs& inputs,
                                    const rpc::BlobCache::Progress& progress = {});
    /// The train program of a round. @errors as above.
    Result<std::shared_ptr<const program::Program>> load_program(
        const protocol::RoundTerms& record, const Digest& program_blob,
        const rpc::BlobCache::Progress& progress = {});
    /// The dataset of a round. @errors as above; kMalformed if the inputs name none.
    Result<std::shared_ptr<const blob::Dataset>> load_dataset(
        const protocol::RoundTerms& record, const records::UnitInputs& inputs,
        const rpc::BlobCache::Progress& progress = {});
    /// A state whose root must be `root`. @errors as above.
    Result<engine::State> load_state(const Digest& blob, const Digest& root,
                                     const rpc::BlobCache::Progress& progress = {});

    /// Whether a base state stays on disk for the rounds to come, whatever unit has ended.
    [[nodiscard]] bool keeps(const Digest& blob) const { return kept_.holds(blob); }
    /// Base states that this loader kept and keeps no longer: to be removed by the caller, unless
    /// something else needs them. Each is given once.
    [[nodiscard]] std::vector<Digest> take_released() { return std::exchange(released_, {}); }

  private:
    /// Makes the blob of the base state if it can. @errors kCancelled alone.
    Status make_base(const protocol::RoundTerms& record, const program::Program& train,
                     const records::UnitInputs& inputs, const rpc::BlobCache::Progress& progress);

    void keep_base(const protocol::RoundTerms& record, const Digest& blob);

    rpc::BlobCache& cache_;
    KeptBases kept_;
    Keep keep_;
    std::vector<Digest> released_;
    Digest program_root_;
    std::shared_ptr<const program::Program> program_;
    std::shared_ptr<const blob::Dataset> dataset_;
};

}  // namespace gym::node
