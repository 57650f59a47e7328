#include "gym/worker/worker.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "delta_in_flight.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/execution/run.hpp"
#include "gym/node/backoff.hpp"
#include "gym/node/idle_blobs.hpp"
#include "gym/node/unit_inputs.hpp"
#include "gym/protocol/reason.hpp"
#include "gym/rpc/blob_cache.hpp"
#include "gym/rpc/delta_upload.hpp"
#include "gym/worker/prefix_sender.hpp"
#include "gym/worker/signature_log.hpp"
#include "gym/worker/unit_checkpoint.hpp"
#include "idle_reason.hpp"
#include "publisher.hpp"
#include "unit_watch.hpp"
#include "worker_timer.hpp"

namespace gym::worker {
namespace {

/// Whether a unit failed for the position that it went on from, not for the machine.
bool is_of_position(ErrorCode code) {
    return code == ErrorCode::kMismatch || code == ErrorCode::kShapeMismatch ||
           code == ErrorCode::kMalformed;
}

class WorkerImpl final : public Worker {
  public:
    /// Files that the worker keeps on disk, besides blobs.
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
          timer_(timer_of(options_)),
          cache_(std::move(cache)),
          journal_(std::move(files.journal)),
          signatures_(std::move(files.signatures)),
          checkpoints_(std::move(files.checkpoints)),
          loader_(cache_),
          upload_(coordinator_, key_, clock_),
          prefixes_(coordinator_, key_, timer_, options_.prefix_every),
          publisher_(options_, timer_),
          idle_(coordinator_, timer_) {}

    Status resume(const std::stop_token& stop) override;
    Result<bool> run_once(const std::stop_token& stop) override;
    Status track(const std::stop_token& stop) override;
    Status send_wanted() override;
    std::optional<protocol::SignedPrefix> last_words() override { return prefixes_.unsent(); }
    [[nodiscard]] records::Activity activity() const override {
        const std::scoped_lock lock(mutex_);
        return activity_;
    }
    [[nodiscard]] const UnitJournal& journal() const override { return journal_; }

  private:
    Status carry_out(const records::TrainTask& task, const std::stop_token& stop);
    void tidy();
    Status check_task(const records::TrainTask& task) const;
    Status check_not_signed(const records::TrainTask& task);
    /// kCheckpoint: continues from the unit's checkpoint, and saves new ones. A unit that was
    /// committed to is recomputed from its beginning: that is what it is recomputed for.
    enum class From { kBase, kCheckpoint };
    /// @param watch ends the run between two steps, once the unit is over; nullptr: nothing does.
    Result<execution::TrainRun> execute(const protocol::UnitRecord& record,
                                        const records::UnitInputs& inputs,
                                        const protocol::UnitKey& unit, From from,
                                        const std::stop_token& stop, UnitWatch* watch = nullptr);
    /// The unit under way is over before it is done.
    void give_up(const protocol::UnitKey& unit);
    Result<protocol::SignedCommitment> sign(const protocol::UnitKey& unit,
                                            const protocol::UnitCommitment& commitment);
    Result<JournalEntry> commit(const records::TrainTask& task, const execution::TrainRun& run);
    Status deliver(const JournalEntry& entry, const std::stop_token& stop);
    Status deliver(const JournalEntry& entry, const blob::VerifiedBlob& delta);
    Status hand_in(JournalEntry entry, const blob::VerifiedBlob& delta, Status sent);
    Status follow(const JournalEntry& entry);
    Status follow_published(JournalEntry entry, const std::string& why);
    Status send_beside(const JournalEntry& entry, const blob::VerifiedBlob& delta);
    Status end_sending(bool waits);
    Result<blob::VerifiedBlob> delta_of(const JournalEntry& entry, const std::stop_token& stop);
    Status track_one(JournalEntry entry, const std::stop_token& stop);
    Status keep_receipt(JournalEntry& entry, const records::InclusionReceipt& receipt);
    /// The receipt's epoch on chain; absent if it is not there yet, or another.
    Result<std::optional<node::ChainView::Epoch>> find_on_chain(
        const JournalEntry& entry, const records::InclusionReceipt& receipt) const;
    Status claim_defence(const JournalEntry& entry, std::uint64_t epoch_block);
    Status defend(JournalEntry& entry, const std::stop_token& stop);
    Status forget(const JournalEntry& entry);
    [[nodiscard]] bool needs(const Digest& blob) const;

    void set_activity(records::Activity activity) {
        const std::scoped_lock lock(mutex_);
        activity_ = std::move(activity);
    }
    void emit(const char* name, const protocol::UnitKey& unit, std::string detail) const;

    rpc::Coordinator& coordinator_;
    const crypto::PrivateKey& key_;
    const Clock& clock_;
    const WorkerOptions options_;
    node::Timer& timer_;
    rpc::BlobCache cache_;
    UnitJournal journal_;
    SignatureLog signatures_;
    CheckpointStore checkpoints_;
    node::InputLoader loader_;
    rpc::DeltaUpload upload_;
    PrefixSender prefixes_;
    Publisher publisher_;
    IdleReason idle_;
    std::unique_ptr<DeltaInFlight> in_flight_;  ///< of a unit that is signed and not committed
    std::optional<std::chrono::steady_clock::time_point> tidied_;
    mutable std::mutex mutex_;
    records::Activity activity_;
};

// Takes units and computes them.

void WorkerImpl::emit(const char* name, const protocol::UnitKey& unit, std::string detail) const {
    spdlog::info("{}: {}{}{}", protocol::name_unit(unit), name, detail.empty() ? "" : " ", detail);
    if (options_.on_event) options_.on_event({name, unit, std::move(detail)});
}

/// Removes what earlier jobs left in the data folder.
void WorkerImpl::tidy() {
    const auto now = timer_.now();
    if (tidied_ && now - *tidied_ < node::kTidyEvery) return;
    tidied_ = now;
    node::remove_idle(cache_, [this](const Digest& blob) { return needs(blob); });
}

Result<bool> WorkerImpl::run_once(const std::stop_token& stop) {
    tidy();
    // While units are open, a poll must not keep them waiting.
    const auto wait = journal_.entries().empty()
                          ? options_.poll_wait
                          : std::min(options_.poll_wait, options_.track_every);
    GYM_CHECK(end_sending(false));
    std::vector<Digest> computed;
    if (in_flight_) computed.push_back(in_flight_->entry().unit_id());
    GYM_TRY(const std::optional<records::Task> task, coordinator_.next_task(wait, computed));
    if (!task) {
        GYM_CHECK(end_sending(true));
        idle_.explain(options_);
        return false;
    }
    const auto* train = std::get_if<records::TrainTask>(&*task);
    if (train == nullptr)
        return fail(ErrorCode::kConflict, "this node is registered as a verifier, not as a worker");
    const Status done = carry_out(*train, stop);
    set_activity({});
    if (!done.ok()) return done.error().in(protocol::name_unit(train->unit));
    return true;
}

Status WorkerImpl::carry_out(const records::TrainTask& task, const std::stop_token& stop) {
    GYM_CHECK(check_task(task));
    const Digest unit = protocol::unit_id(task.unit);
    if (in_flight_ && in_flight_->entry().unit_id() == unit) return end_sending(true);
    if (const JournalEntry* known = journal_.find(unit))
        return deliver(*known, stop);  // signed before: that commitment or none
    GYM_CHECK(check_not_signed(task));
    if (task.deadline_ms != 0 && clock_.now_ms() >= std::max(task.deadline_ms, task.late_until_ms))
        return fail(ErrorCode::kTimeout, "its deadline has passed");
    if (options_.chain != nullptr)
        GYM_CHECK(
            node::wait_for_round(*options_.chain, timer_, task.record, options_.chain_wait, stop));
    emit("started", task.unit,
         std::to_string(task.record.find_slot(task.unit.slot)->steps) + " steps" +
             (options_.chain == nullptr ? "" : ", its round record is on chain"));
    UnitWatch watch(coordinator_, clock_, timer_, task);
    const auto run = execute(task.record, task.inputs, task.unit, From::kCheckpoint, stop, &watch);
    if (!run.ok() && run.error().code == ErrorCode::kCancelled && !stop.stop_requested()) {
        give_up(task.unit);
        return {};  // the next unit, without a pause: nothing failed
    }
    if (!run.ok()) return run.error();
    GYM_TRY(const JournalEntry entry, commit(task, *run));
    return task.overlap ? send_beside(entry, run->result.delta) : deliver(entry, run->result.delta);
}

Status WorkerImpl::check_task(const records::TrainTask& task) const {
    GYM_CHECK(protocol::validate(task.record));
    if (task.record.job_id != task.unit.job_id || task.record.round != task.unit.round)
        return fail(ErrorCode::kMismatch, "the round record is of another job or round");
    const protocol::SlotAssignment* slot = task.record.find_slot(task.unit.slot);
    if (slot == nullptr || slot->worker != key_.address())
        return fail(ErrorCode::kMismatch, "the round record gives this slot to another worker");
    return {};
}

/// Before anything is computed: a unit that was signed under another round record cannot be signed
/// again, however the coordinator explains it.
Status WorkerImpl::check_not_signed(const records::TrainTask& task) {
    GYM_TRY(const std::optional<Signed> known, signatures_.find(task.unit));
    if (!known || known->round_record == protocol::hash(task.record)) return {};
    return fail(ErrorCode::kConflict,
                "this node signed for it under round record " + known->round_record.hex() +
                    ", the coordinator now serves " + protocol::hash(task.record).hex() +
                    ": nothing is signed for a unit twice");
}

Result<execution::TrainRun> WorkerImpl::execute(const protocol::UnitRecord& record,
                                                const records::UnitInputs& inputs,
                                                const protocol::UnitKey& unit, From from,
                                                const std::stop_token& stop, UnitWatch* watch) {
    const protocol::SlotAssignment* const slot = record.find_slot(unit.slot);
    if (slot == nullptr) return fail(ErrorCode::kMismatch, "its record is without its slot");
    const CheckpointKey key{protocol::unit_id(unit), execution::unit_spec(record, *slot)};
    set_activity({unit, 0, key.spec.steps, "download"});
    GYM_TRY(const execution::TrainInputs loaded, loader_.load_train(record, *slot, inputs));
    set_activity({unit, 0, key.spec.steps, "run"});
    engine::RunOptions run;
    run.engine = options_.engine;
    std::stop_source end;
    const std::stop_callback stopped(stop, [&end] { end.request_stop(); });
    run.cancel = end.get_token();
    run.progress = [&](const engine::UnitProgress& progress) {
        set_activity({unit, progress.step, progress.steps, "run"});
        if (options_.on_progress) options_.on_progress(progress);
        if (const Status sent = end_sending(false); !sent.ok())
            spdlog::warn("the unit before is not delivered: {}", sent.error().message);
        if (watch == nullptr || progress.step == progress.steps) return;
        if (prefixes_.take_refusal()) watch->doubt();
        if (watch->is_over()) end.request_stop();
        prefixes_.expect_end(watch->left());
    };
    std::optional<engine::UnitPosition> position;
    CheckpointPlan plan(checkpoints_, key, options_.checkpoint_every, stop);
    if (from == From::kCheckpoint) {
        position = checkpoints_.load(key, options_.engine.threads);
        run.resume = position ? &*position : nullptr;
        prefixes_.begin({protocol::hash(record), unit.slot, unit.attempt, 0, {}},
                        position ? position->records : std::vector<engine::StepRecord>(),
                        watch != nullptr ? watch->left() : std::nullopt);
        run.after_step = [this, &plan](const engine::Trainer& trainer,
                                       std::span<const engine::StepRecord> records) {
            prefixes_.after_step(records.back());
            plan.after_step(trainer, records);
        };
    }
    if (position) emit("resumed", unit, "from step " + std::to_string(position->records.size()));
    if (watch != nullptr && watch->is_over()) end.request_stop();  // fetching took so long
    auto result = execution::run_train(record, *slot, loaded, run);
    // What is wrong with a position the next attempt must not meet again; a machine without memory
    // or device meets it once it can.
    if (position && !result.ok() && is_of_position(result.error().code))
        checkpoints_.remove(key.unit);
    return result;
}

/// Where the coordinator takes a last prefix, its clock is behind, and it may give the unit again.
void WorkerImpl::give_up(const protocol::UnitKey& unit) {
    const records::Activity at = activity();
    const PrefixSender::Said said = prefixes_.say_last();
    if (!said.is_open) checkpoints_.remove(protocol::unit_id(unit));
    prefixes_.end();
    const std::string paid = said.taken == 0
                                 ? "nothing of it can be paid: the coordinator has no prefix"
                                 : "the coordinator has its prefix up to step " +
                                       std::to_string(said.taken) + ", to be verified and paid";
    emit("stopped", unit,
         "after " + std::to_string(at.step) + " of " + std::to_string(at.steps) +
             " steps, since no commitment to it is taken any more; " + paid);
}

Result<protocol::SignedCommitment> WorkerImpl::sign(const protocol::UnitKey& unit,
                                                    const protocol::UnitCommitment& commitment) {
    GYM_TRY(const records::NetworkDescription network, coordinator_.network());
    const crypto::Eip712Domain domain = network.domain();
    // On disk first: the signature may leave this process in any way from here on.
    GYM_CHECK(signatures_.add(
        unit, {commitment.round_record, protocol::signing_digest(domain, commitment)}));
    return protocol::sign(domain, commitment, key_);
}

Result<JournalEntry> WorkerImpl::commit(const records::TrainTask& task,
                                        const execution::TrainRun& run) {
    const engine::UnitResult& result = run.result;
    const protocol::UnitRecord& record = task.record;
    if (options_.check_signing) GYM_CHECK(options_.check_signing());
    protocol::UnitCommitment commitment;
    commitment.kind = protocol::UnitKind::kTrain;
    commitment.round_record = protocol::hash(record);
    commitment.slot = task.unit.slot;
    commitment.attempt = task.unit.attempt;
    commitment.records_root = result.records_root;
    commitment.final_state_root = result.final_state_root;
    commitment.delta_codec = record.delta_codec;
    commitment.delta_root = result.delta.root();
    commitment.steps = record.find_slot(task.unit.slot)->steps;
    commitment.tokens = result.tokens;
    commitment.flops = result.flops;
    GYM_CHECK(protocol::check_against_round(commitment, record, key_.address(), task.unit.attempt));
    JournalEntry entry;
    entry.unit = task.unit;
    entry.record = record;
    entry.inputs = task.inputs;
    GYM_TRY(entry.commitment, sign(task.unit, commitment));
    entry.records = engine::encode_records(result.records);
    // The delta first: a journal entry promises that it can be delivered.
    GYM_CHECK(cache_.store().put(result.delta));
    GYM_CHECK(journal_.save(entry));
    GYM_CHECK(claim_defence(entry, 0));
    checkpoints_.remove(entry.unit_id());
    emit("committed", task.unit, "last loss " + std::to_string(result.last_loss));
    return entry;
}

// Brings what was signed to the coordinator, and follows it to its end.

Status WorkerImpl::resume(const std::stop_token& stop) {
    const std::vector<JournalEntry> entries = journal_.entries();
    for (const JournalEntry& entry : entries) {
        if (!entry.receipt) GYM_CHECK(claim_defence(entry, 0));
        if (entry.leaf) continue;
        Status sent = deliver(entry, stop);
        if (!sent.ok() && node::is_transient(sent.error().code)) return sent;
    }
    return {};
}

/// The delta that was committed to: from disk, or computed again when the disk lost it.
Result<blob::VerifiedBlob> WorkerImpl::delta_of(const JournalEntry& entry,
                                                const std::stop_token& stop) {
    const Digest& root = entry.commitment.commitment.delta_root;
    auto stored = cache_.store().load(root);
    if (stored.ok() || stored.error().code == ErrorCode::kIo) return stored;
    GYM_TRY(const execution::TrainRun again,
            execute(entry.record, entry.inputs, entry.unit, From::kBase, stop));
    if (again.result.delta.root() != root)
        return fail(ErrorCode::kMismatch,
                    "re-execution on this machine differs from its commitment");
    GYM_CHECK(cache_.store().put(again.result.delta));
    return again.result.delta;
}

Status WorkerImpl::deliver(const JournalEntry& entry, const std::stop_token& stop) {
    GYM_TRY(const blob::VerifiedBlob delta, delta_of(entry, stop));
    return deliver(entry, delta);
}

Status WorkerImpl::deliver(const JournalEntry& entry, const blob::VerifiedBlob& delta) {
    const std::uint32_t steps = entry.commitment.commitment.steps;
    set_activity({entry.unit, steps, steps, "upload"});
    Status delivered = hand_in(entry, delta, upload_.send(delta, cache_.sources()));
    set_activity({});
    return delivered;
}

/// A thread sends the delta, and the worker computes on. What fails meanwhile is tried again when
/// the coordinator gives the unit again.
Status WorkerImpl::send_beside(const JournalEntry& entry, const blob::VerifiedBlob& delta) {
    GYM_CHECK(end_sending(true));
    const auto send = [this, known = cache_.sources()](const blob::VerifiedBlob& sent) {
        return upload_.send(sent, known);
    };
    in_flight_ = std::make_unique<DeltaInFlight>(entry, delta, send);
    return {};
}

/// Commits to the unit whose delta was on its way. @param waits for the delta; otherwise nothing
/// happens before it is there.
Status WorkerImpl::end_sending(bool waits) {
    if (!in_flight_ || (!waits && !in_flight_->is_done())) return {};
    const auto ended = std::exchange(in_flight_, nullptr);
    return hand_in(ended->entry(), ended->delta(), ended->wait());
}

/// The commitment, once the delta is where it is needed. @param sent what sending it came to.
Status WorkerImpl::hand_in(JournalEntry entry, const blob::VerifiedBlob& delta, Status sent) {
    // Refused where the coordinator has the commitment already, and only its answer was lost.
    if (sent.ok() || sent.error().code == ErrorCode::kPermissionDenied) {
        auto accepted = coordinator_.submit_commitment({entry.commitment, entry.records});
        // The job became private after its delta went to mirrors.
        if (!accepted.ok() && sent.ok() && accepted.error().code == ErrorCode::kNotFound) {
            sent = upload_.send_here(delta);
            if (sent.ok())
                accepted = coordinator_.submit_commitment({entry.commitment, entry.records});
        }
        if (accepted.ok()) {
            entry.leaf = accepted->leaf;
            entry.state = protocol::UnitState::kCommitted;
            sent = {};
        } else if (sent.ok()) {
            sent = accepted.error();
        }
    }
    if (sent.ok()) {
        if (*entry.leaf != protocol::commitment_leaf(entry.commitment))
            return fail(ErrorCode::kMismatch, "the coordinator's receipt is of another commitment");
        GYM_CHECK(follow(entry));
        emit("accepted", entry.unit, "");
        return {};
    }
    const auto outcome = publisher_.publish(entry, sent.error());
    if (outcome == Publisher::Outcome::kPublished)
        return follow_published(std::move(entry), sent.error().message);
    if (outcome == Publisher::Outcome::kWaits || node::is_transient(sent.error().code)) return sent;
    emit("dropped", entry.unit, sent.error().message);
    GYM_CHECK(forget(entry));
    return sent;
}

/// The coordinator has the commitment, or the chain: the unit is asked about, and has no prefix.
Status WorkerImpl::follow(const JournalEntry& entry) {
    GYM_CHECK(journal_.save(entry));
    if (prefixes_.is_of(entry.commitment.commitment)) prefixes_.end();
    return {};
}

Status WorkerImpl::follow_published(JournalEntry entry, const std::string& why) {
    entry.leaf = protocol::commitment_leaf(entry.commitment);
    GYM_CHECK(follow(entry));
    emit("published", entry.unit, "the coordinator does not take it: " + why);
    return {};
}

Status WorkerImpl::track(const std::stop_token& stop) {
    const std::vector<JournalEntry> entries = journal_.entries();
    for (const JournalEntry& entry : entries) {
        if (entry.leaf) continue;
        if (publisher_.publish_overdue(entry) == Publisher::Outcome::kPublished)
            GYM_CHECK(follow_published(entry, "it is refused, or nothing gets through"));
    }
    for (const JournalEntry& entry : entries) {
        if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped");
        if (entry.leaf) GYM_CHECK(track_one(entry, stop));
    }
    return {};
}

Status WorkerImpl::send_wanted() {
    return upload_.send_wanted([&](const Digest& root) { return cache_.store().load(root); });
}

Status WorkerImpl::track_one(JournalEntry entry, const std::stop_token& stop) {
    const auto view = coordinator_.unit(entry.unit_id());
    if (!view.ok() && view.error().code == ErrorCode::kNotFound) {
        if (publisher_.asks_for(entry)) return {};
        emit("dropped", entry.unit, "the coordinator no longer knows it");
        return forget(entry);
    }
    if (!view.ok()) return view.error();
    const JournalEntry before = entry;
    entry.state = view->status.state;
    entry.reason = view->reason;
    if (view->inclusion && !entry.receipt) GYM_CHECK(keep_receipt(entry, *view->inclusion));
    if (entry.state == protocol::UnitState::kDisputed && !entry.defended) {
        if (before.state != entry.state) emit("disputed", entry.unit, entry.reason);
        // Where games are played, the one on chain is the answer, and the referee looks by itself.
        const bool plays = options_.claims != nullptr;
        if (options_.defend_disputes && !plays) GYM_CHECK(defend(entry, stop));
    }
    const bool ended = protocol::is_terminal(entry.state);
    if (ended && entry.state != before.state)
        emit("ended", entry.unit,
             std::string(protocol::to_string(entry.state)) +
                 (entry.reason.empty() ? "" : ": " + entry.reason));
    // Its commitment may be in an epoch all the same: then it is not asked for.
    if (ended && !publisher_.asks_for(entry)) return forget(entry);
    return entry == before ? Status() : journal_.save(entry);
}

Status WorkerImpl::keep_receipt(JournalEntry& entry, const records::InclusionReceipt& receipt) {
    const Status proven =
        commit::merkle_verify(receipt.commitments_root, {receipt.leaf_index, receipt.leaf_count},
                              *entry.leaf, receipt.siblings);
    if (!proven.ok()) {
        spdlog::error("{}: the coordinator's receipt proves nothing: {}",
                      protocol::name_unit(entry.unit), proven.error().message);
        return {};  // asked again at the next look; the work itself is not lost by it
    }
    // Without a chain to ask, the coordinator's word counts.
    std::optional<node::ChainView::Epoch> epoch;
    if (options_.chain != nullptr) {
        GYM_TRY(epoch, find_on_chain(entry, receipt));
        if (!epoch) return {};
    }
    entry.receipt = receipt;
    if (epoch) GYM_CHECK(claim_defence(entry, epoch->block));
    if (epoch) GYM_CHECK(publisher_.withdraw(entry));
    emit("receipt", entry.unit, "epoch " + std::to_string(receipt.epoch));
    return {};
}

Result<std::optional<node::ChainView::Epoch>> WorkerImpl::find_on_chain(
    const JournalEntry& entry, const records::InclusionReceipt& receipt) const {
    GYM_TRY(auto epoch, options_.chain->epoch(receipt.epoch));
    if (!epoch) return epoch;  // on its way
    if (epoch->commitments_root == receipt.commitments_root && epoch->count == receipt.leaf_count)
        return epoch;
    spdlog::error("{}: the coordinator's receipt is under root {}, the chain holds {} for epoch {}",
                  protocol::name_unit(entry.unit), receipt.commitments_root.hex(),
                  epoch->commitments_root.hex(), receipt.epoch);
    return std::optional<node::ChainView::Epoch>();
}

/// From its signature on anybody may open a game about the unit, whatever the coordinator says of
/// it, and whether or not it hands out receipts. @param epoch_block 0: not known yet.
Status WorkerImpl::claim_defence(const JournalEntry& entry, std::uint64_t epoch_block) {
    if (options_.claims == nullptr || !options_.defend_disputes) return {};
    player::Claim claim;
    claim.role = player::Role::kDefend;
    claim.key = entry.unit;
    claim.evidence.commitment = entry.commitment;
    claim.evidence.record = entry.record;
    if (entry.receipt) {
        claim.evidence.index = static_cast<std::uint32_t>(entry.receipt->leaf_index);
        claim.evidence.path = entry.receipt->siblings;
    }
    claim.program_blob = entry.inputs.program_blob;
    claim.dataset_blob = entry.inputs.dataset_blob.value_or(Digest());
    claim.base_state_blob = entry.inputs.base_state_blob;
    claim.epoch_block = epoch_block;
    claim.from_block = epoch_block != 0 ? epoch_block : options_.claims->head();
    return options_.claims->save(claim);
}

/// Stands by the commitment only if this machine still computes it: a worker whose memory flipped a
/// bit should not pay for a game it will lose.
Status WorkerImpl::defend(JournalEntry& entry, const std::stop_token& stop) {
    const auto again = execute(entry.record, entry.inputs, entry.unit, From::kBase, stop);
    set_activity({});
    if (!again.ok()) return again.error().in("re-executing a disputed unit");
    entry.defended = true;
    if (again->roots() != protocol::roots_of(entry.commitment.commitment)) {
        emit("disputed", entry.unit,
             "re-execution on this machine differs from its commitment: check its memory");
        return journal_.save(entry);
    }
    GYM_CHECK(coordinator_.defend_unit(entry.unit_id()));
    emit("defended", entry.unit, "re-execution gave the committed bits again");
    return journal_.save(entry);
}

/// Drops the entry, and the blobs that nothing else needs. Program and dataset stay for the next
/// one.
Status WorkerImpl::forget(const JournalEntry& entry) {
    GYM_CHECK(journal_.remove(entry.unit_id()));
    std::vector<Digest> blobs = loader_.take_released();
    blobs.push_back(entry.inputs.base_state_blob);
    blobs.push_back(entry.commitment.commitment.delta_root);
    for (const Digest& blob : blobs)
        if (!needs(blob)) GYM_CHECK(cache_.store().remove(blob));
    return {};
}

/// Of open units, of games, and of base states to come.
bool WorkerImpl::needs(const Digest& blob) const {
    if (loader_.keeps(blob)) return true;
    if (options_.claims != nullptr && options_.claims->needs(blob)) return true;
    return std::ranges::any_of(journal_.entries(), [&](const JournalEntry& other) {
        return other.inputs.base_state_blob == blob ||
               other.commitment.commitment.delta_root == blob;
    });
}

}  // namespace

Result<std::unique_ptr<Worker>> Worker::open(rpc::Coordinator& coordinator,
                                             const crypto::PrivateKey& key, const Clock& clock,
                                             WorkerOptions options) {
    GYM_TRY(UnitJournal journal, UnitJournal::open(options.data_dir / "units"));
    GYM_TRY(SignatureLog signatures, SignatureLog::open(options.data_dir / "signed"));
    const vault::StoreKey at_rest = vault::StoreKey::of(key);
    GYM_TRY(CheckpointStore checkpoints,
            CheckpointStore::open(options.data_dir / "checkpoints", &at_rest));
    WorkerImpl::Files files{std::move(journal), std::move(signatures), std::move(checkpoints)};
    GYM_TRY(rpc::BlobCache cache,
            rpc::BlobCache::open(options.data_dir / "blobs", coordinator, at_rest));
    if (options.swarm != nullptr) cache.share_through(*options.swarm);
    return std::unique_ptr<Worker>(std::make_unique<WorkerImpl>(
        coordinator, key, clock, std::move(options), std::move(cache), std::move(files)));
}

}  // namespace gym::worker
