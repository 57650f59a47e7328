#include "gym/worker/worker.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "gym/commit/merkle.hpp"
#include "gym/protocol/reason.hpp"
#include "gym/worker/patience.hpp"
#include "gym/worker/unit_inputs.hpp"

namespace gym::worker {
namespace {

class WorkerImpl final : public Worker {
  public:
    WorkerImpl(rpc::Coordinator& coordinator, const crypto::PrivateKey& key, const Clock& clock,
               WorkerOptions options, rpc::BlobCache cache, UnitJournal journal)
        : coordinator_(coordinator),
          key_(key),
          clock_(clock),
          options_(std::move(options)),
          cache_(std::move(cache)),
          journal_(std::move(journal)),
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
    Status check_task(const rpc::TrainTask& task) const;
    Result<engine::UnitResult> execute(const protocol::RoundRecord& record,
                                       const rpc::UnitInputs& inputs, const protocol::UnitKey& unit,
                                       const std::stop_token& stop);
    Result<JournalEntry> commit(const rpc::TrainTask& task, const engine::UnitResult& result);
    Status deliver(JournalEntry entry, const std::stop_token& stop);
    Result<Bytes> delta_of(const JournalEntry& entry, const std::stop_token& stop);
    Status track_one(JournalEntry entry, const std::stop_token& stop);
    Status keep_receipt(JournalEntry& entry, const rpc::InclusionReceipt& receipt);
    Status defend(JournalEntry& entry, const std::stop_token& stop);
    Status forget(const JournalEntry& entry);

    void set_activity(rpc::Activity activity) {
        const std::scoped_lock lock(mutex_);
        activity_ = std::move(activity);
    }
    void tell(const char* name, const protocol::UnitKey& unit, std::string detail) const {
        spdlog::info("{}: {} {}", protocol::name_unit(unit), name, detail);
        if (options_.on_event) options_.on_event({name, unit, std::move(detail)});
    }

    rpc::Coordinator& coordinator_;
    const crypto::PrivateKey& key_;
    const Clock& clock_;
    const WorkerOptions options_;
    rpc::BlobCache cache_;
    UnitJournal journal_;
    InputLoader loader_;
    mutable std::mutex mutex_;
    rpc::Activity activity_;
};

Status WorkerImpl::resume(const std::stop_token& stop) {
    const std::vector<JournalEntry> entries = journal_.entries();
    for (const JournalEntry& entry : entries) {
        if (entry.leaf) continue;
        const Status sent = deliver(entry, stop);
        if (!sent.ok() && is_transient(sent.error().code)) return sent;
    }
    return {};
}

Result<bool> WorkerImpl::run_once(const std::stop_token& stop) {
    // While units are open, a poll must not keep them waiting.
    const auto wait = journal_.entries().empty()
                          ? options_.poll_wait
                          : std::min(options_.poll_wait, options_.track_every);
    GYM_TRY(const std::optional<rpc::Task> task, coordinator_.next_task(wait));
    if (!task) return false;
    const auto* train = std::get_if<rpc::TrainTask>(&*task);
    if (train == nullptr)
        return fail(ErrorCode::kConflict, "this node is registered as a verifier, not as a worker");
    const Status done = carry_out(*train, stop);
    set_activity({});
    if (!done.ok()) return done.error().in(protocol::name_unit(train->unit));
    return true;
}

Status WorkerImpl::carry_out(const rpc::TrainTask& task, const std::stop_token& stop) {
    GYM_CHECK(check_task(task));
    if (const JournalEntry* known = journal_.find(protocol::unit_id(task.unit)))
        return deliver(*known, stop);  // signed before: that commitment or none
    if (task.deadline_ms != 0 && clock_.now_ms() >= task.deadline_ms)
        return fail(ErrorCode::kTimeout, "its deadline has passed");
    tell("started", task.unit, std::to_string(task.record.steps) + " steps");
    GYM_TRY(const engine::UnitResult result, execute(task.record, task.inputs, task.unit, stop));
    GYM_TRY(const JournalEntry entry, commit(task, result));
    return deliver(entry, stop);
}

Status WorkerImpl::check_task(const rpc::TrainTask& task) const {
    GYM_CHECK(protocol::validate(task.record));
    if (task.record.job_id != task.unit.job_id || task.record.round != task.unit.round)
        return fail(ErrorCode::kMismatch, "the round record is of another job or round");
    const protocol::SlotAssignment* slot = task.record.find_slot(task.unit.slot);
    if (slot == nullptr || slot->worker != key_.address())
        return fail(ErrorCode::kMismatch, "the round record gives this slot to another worker");
    return {};
}

Result<engine::UnitResult> WorkerImpl::execute(const protocol::RoundRecord& record,
                                               const rpc::UnitInputs& inputs,
                                               const protocol::UnitKey& unit,
                                               const std::stop_token& stop) {
    set_activity({unit, 0, record.steps, "download"});
    GYM_TRY(const TrainInputs loaded, loader_.load_train(record, inputs));
    set_activity({unit, 0, record.steps, "run"});
    engine::RunOptions run;
    run.engine = options_.engine;
    run.cancel = stop;
    run.progress = [&](const engine::UnitProgress& progress) {
        set_activity({unit, progress.step, progress.steps, "run"});
        if (options_.on_progress) options_.on_progress(progress);
    };
    return engine::run_unit(*loaded.program, loaded.base, *loaded.dataset,
                            unit_spec(record, unit.slot), run);
}

Result<JournalEntry> WorkerImpl::commit(const rpc::TrainTask& task,
                                        const engine::UnitResult& result) {
    const protocol::RoundRecord& record = task.record;
    protocol::UnitCommitment commitment;
    commitment.kind = protocol::UnitKind::kTrain;
    commitment.round_record = protocol::hash(record);
    commitment.slot = task.unit.slot;
    commitment.attempt = task.unit.attempt;
    commitment.records_root = result.records_root;
    commitment.final_state_root = result.final_state_root;
    commitment.delta_codec = record.delta_codec;
    commitment.delta_root = result.delta_root;
    commitment.steps = record.steps;
    commitment.tokens = result.tokens;
    commitment.flops = result.flops;
    GYM_CHECK(protocol::check_against_round(commitment, record, commitment.round_record,
                                            key_.address(), task.unit.attempt));
    GYM_TRY(const rpc::NetworkInfo network, coordinator_.network());
    JournalEntry entry;
    entry.unit = task.unit;
    entry.record = record;
    entry.inputs = task.inputs;
    entry.commitment = protocol::sign(network.domain(), commitment, key_);
    entry.records = engine::encode_records(result.records);
    // The delta first: a journal entry promises that it can be delivered.
    GYM_CHECK(cache_.store().put(result.delta_root, result.delta));
    GYM_CHECK(journal_.save(entry));
    tell("committed", task.unit, "last loss " + std::to_string(result.last_loss));
    return entry;
}

/// The delta that was committed to: from disk, or computed again when the disk lost it.
Result<Bytes> WorkerImpl::delta_of(const JournalEntry& entry, const std::stop_token& stop) {
    const Digest& root = entry.commitment.commitment.delta_root;
    auto stored = cache_.store().get(root);
    if (stored.ok() || stored.error().code == ErrorCode::kIo) return stored;
    GYM_TRY(engine::UnitResult again, execute(entry.record, entry.inputs, entry.unit, stop));
    if (again.delta_root != root)
        return fail(ErrorCode::kMismatch,
                    "re-execution on this machine differs from what it committed to");
    GYM_CHECK(cache_.store().put(root, again.delta));
    return std::move(again.delta);
}

Status WorkerImpl::deliver(JournalEntry entry, const std::stop_token& stop) {
    const std::uint32_t steps = entry.record.steps;
    GYM_TRY(const Bytes delta, delta_of(entry, stop));
    set_activity({entry.unit, steps, steps, "upload"});
    Status sent = coordinator_.put_blob(entry.commitment.commitment.delta_root, delta);
    if (sent.ok()) {
        const auto accepted = coordinator_.submit_commitment({entry.commitment, entry.records});
        if (accepted.ok()) {
            entry.leaf = accepted->leaf;
            entry.state = protocol::UnitState::kCommitted;
        } else {
            sent = accepted.error();
        }
    }
    set_activity({});
    if (sent.ok()) {
        if (*entry.leaf != protocol::commitment_leaf(entry.commitment))
            return fail(ErrorCode::kMismatch, "the coordinator's receipt is of another commitment");
        GYM_CHECK(journal_.save(entry));
        tell("accepted", entry.unit, "");
        return {};
    }
    if (is_transient(sent.error().code)) return sent;
    tell("dropped", entry.unit, sent.error().message);
    GYM_CHECK(forget(entry));
    return sent;
}

Status WorkerImpl::track(const std::stop_token& stop) {
    const std::vector<JournalEntry> entries = journal_.entries();
    for (const JournalEntry& entry : entries) {
        if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped");
        if (entry.leaf) GYM_CHECK(track_one(entry, stop));
    }
    return {};
}

Status WorkerImpl::track_one(JournalEntry entry, const std::stop_token& stop) {
    const auto view = coordinator_.unit(entry.unit_id());
    if (!view.ok() && view.error().code == ErrorCode::kNotFound) {
        tell("dropped", entry.unit, "the coordinator does not know it any more");
        return forget(entry);
    }
    if (!view.ok()) return view.error();
    const JournalEntry before = entry;
    entry.state = view->state;
    entry.reason = view->reason;
    if (view->receipt && !entry.receipt) GYM_CHECK(keep_receipt(entry, *view->receipt));
    if (entry.state == protocol::UnitState::kDisputed && !entry.defended) {
        if (before.state != entry.state) tell("disputed", entry.unit, entry.reason);
        if (options_.defend_disputes) GYM_CHECK(defend(entry, stop));
    }
    if (protocol::is_terminal(entry.state)) {
        tell("ended", entry.unit,
             std::string(protocol::to_string(entry.state)) +
                 (entry.reason.empty() ? "" : ": " + entry.reason));
        return forget(entry);
    }
    return entry == before ? Status() : journal_.save(entry);
}

Status WorkerImpl::keep_receipt(JournalEntry& entry, const rpc::InclusionReceipt& receipt) {
    const Status proven =
        commit::merkle_verify(receipt.commitments_root, {receipt.leaf_index, receipt.leaf_count},
                              *entry.leaf, receipt.siblings);
    if (!proven.ok()) {
        spdlog::error("{}: the coordinator's receipt proves nothing: {}",
                      protocol::name_unit(entry.unit), proven.error().message);
        return {};  // asked again at the next look; the work itself is not lost by it
    }
    entry.receipt = receipt;
    tell("receipt", entry.unit, "epoch " + std::to_string(receipt.epoch));
    return {};
}

/// Stands by the commitment only if this machine still computes it: a worker whose memory flipped a
/// bit should not pay for a game it will lose.
Status WorkerImpl::defend(JournalEntry& entry, const std::stop_token& stop) {
    const auto again = execute(entry.record, entry.inputs, entry.unit, stop);
    set_activity({});
    if (!again.ok()) return again.error().in("re-executing a disputed unit");
    const protocol::UnitCommitment& claimed = entry.commitment.commitment;
    entry.defended = true;
    if (again->records_root != claimed.records_root ||
        again->final_state_root != claimed.final_state_root ||
        again->delta_root != claimed.delta_root) {
        tell("disputed", entry.unit,
             "re-execution on this machine differs from what it committed to: check its memory");
        return journal_.save(entry);
    }
    GYM_CHECK(coordinator_.defend_unit(entry.unit_id()));
    tell("defended", entry.unit, "re-execution gave the committed bits again");
    return journal_.save(entry);
}

/// Drops the entry, and the blobs that no other open unit needs. Program and dataset stay for the
/// next one.
Status WorkerImpl::forget(const JournalEntry& entry) {
    GYM_CHECK(journal_.remove(entry.unit_id()));
    const auto needed = [this](const Digest& blob) {
        return std::ranges::any_of(journal_.entries(), [&](const JournalEntry& other) {
            return other.inputs.base_state_blob == blob ||
                   other.commitment.commitment.delta_root == blob;
        });
    };
    for (const Digest& blob :
         {entry.inputs.base_state_blob, entry.commitment.commitment.delta_root})
        if (!needed(blob)) GYM_CHECK(cache_.store().remove(blob));
    return {};
}

}  // namespace

Result<std::unique_ptr<Worker>> Worker::open(rpc::Coordinator& coordinator,
                                             const crypto::PrivateKey& key, const Clock& clock,
                                             WorkerOptions options) {
    GYM_TRY(UnitJournal journal, UnitJournal::open(options.data_dir / "units"));
    GYM_TRY(rpc::BlobCache cache, rpc::BlobCache::open(options.data_dir / "blobs", coordinator));
    return std::unique_ptr<Worker>(std::make_unique<WorkerImpl>(
        coordinator, key, clock, std::move(options), std::move(cache), std::move(journal)));
}

Status run_worker(Worker& worker, const WorkerOptions& options, const std::stop_token& stop) {
    Patience patience;
    auto next_track = std::chrono::steady_clock::now();
    for (bool resumed = false; !stop.stop_requested();) {
        Status done;
        if (!resumed) {
            done = worker.resume(stop);
            resumed = done.ok() || !is_transient(done.error().code);
        }
        if (done.ok() && std::chrono::steady_clock::now() >= next_track) {
            done = worker.track(stop);
            next_track = std::chrono::steady_clock::now() + options.track_every;
        }
        if (done.ok()) {
            const auto ran = worker.run_once(stop);
            if (!ran.ok()) done = ran.error();
        }
        if (done.ok())
            patience.succeeded();
        else if (done.error().code != ErrorCode::kCancelled)
            patience.failed(done.error(), stop);
    }
    return {};
}

}  // namespace gym::worker
