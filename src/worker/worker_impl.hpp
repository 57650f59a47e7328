#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "gym/rpc/blob_cache.hpp"
#include "gym/worker/signature_log.hpp"
#include "gym/worker/unit_checkpoint.hpp"
#include "gym/worker/unit_inputs.hpp"
#include "gym/worker/worker.hpp"

namespace gym::worker {

/// The worker of worker.hpp: worker.cpp takes and computes units, worker_follow.cpp brings what was
/// signed to the coordinator and follows it to its end.
class WorkerImpl final : public Worker {
  public:
    /// What the worker keeps on disk, besides blobs.
    struct Files {
        UnitJournal journal;
        SignatureLog signatures;
        CheckpointStore checkpoints;
    };

    WorkerImpl(rpc::Coordinator& coordinator, const crypto::PrivateKey& key, const Clock& clock,
               WorkerOptions options, rpc::BlobCache cache, Files files)
        : coordinator_(coordinator),
          key_(key),
          clock_(clock),
          options_(std::move(options)),
          cache_(std::move(cache)),
          journal_(std::move(files.journal)),
          signatures_(std::move(files.signatures)),
          checkpoints_(std::move(files.checkpoints)),
          loader_(cache_) {}

    Status resume(const std::stop_token& stop) override;
    Result<bool> run_once(const std::stop_token& stop) override;
    Status track(const std::stop_token& stop) override;
    [[nodiscard]] rpc::Activity activity() const override {
        const std::scoped_lock lock(mutex_);
        return activity_;
    }
    [[nodiscard]] const UnitJournal& journal() const override { return journal_; }

  private:
    Status carry_out(const rpc::TrainTask& task, const std::stop_token& stop);
    void explain_idle();
    Status check_task(const rpc::TrainTask& task) const;
    Status check_not_signed(const rpc::TrainTask& task);
    /// kCheckpoint: goes on from the unit's checkpoint, and saves new ones. A unit that was
    /// committed to is recomputed from its beginning: that is what it is recomputed for.
    enum class From { kBase, kCheckpoint };
    Result<engine::UnitResult> execute(const protocol::RoundRecord& record,
                                       const rpc::UnitInputs& inputs, const protocol::UnitKey& unit,
                                       From from, const std::stop_token& stop);
    Result<protocol::SignedCommitment> sign(const protocol::UnitKey& unit,
                                            const protocol::UnitCommitment& commitment);
    Result<JournalEntry> commit(const rpc::TrainTask& task, const engine::UnitResult& result);
    Status deliver(JournalEntry entry, const std::stop_token& stop);
    Result<Bytes> delta_of(const JournalEntry& entry, const std::stop_token& stop);
    Status track_one(JournalEntry entry, const std::stop_token& stop);
    Status keep_receipt(JournalEntry& entry, const rpc::InclusionReceipt& receipt);
    /// What the chain holds for the receipt's epoch; absent if it is not there yet, or another.
    Result<std::optional<ChainView::Epoch>> find_on_chain(
        const JournalEntry& entry, const rpc::InclusionReceipt& receipt) const;
    Status stand_by(const JournalEntry& entry, std::uint64_t epoch_block);
    Status defend(JournalEntry& entry, const std::stop_token& stop);
    Status forget(const JournalEntry& entry);

    void set_activity(rpc::Activity activity) {
        const std::scoped_lock lock(mutex_);
        activity_ = std::move(activity);
    }
    void tell(const char* name, const protocol::UnitKey& unit, std::string detail) const;

    rpc::Coordinator& coordinator_;
    const crypto::PrivateKey& key_;
    const Clock& clock_;
    const WorkerOptions options_;
    rpc::BlobCache cache_;
    UnitJournal journal_;
    SignatureLog signatures_;
    CheckpointStore checkpoints_;
    InputLoader loader_;
    std::optional<std::chrono::steady_clock::time_point> asked_why_idle_;
    std::string stake_because_;  ///< as it was said last
    mutable std::mutex mutex_;
    rpc::Activity activity_;
};

}  // namespace gym::worker
