#include "gym/worker/worker.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "gym/protocol/reason.hpp"
#include "gym/protocol/unit_spec.hpp"
#include "gym/worker/patience.hpp"
#include "worker_impl.hpp"

namespace gym::worker {
namespace {

constexpr std::chrono::seconds kAskWhyIdleEvery{30};

bool has_claims_to_defend(const WorkerOptions& options) {
    return options.claims != nullptr && options.claims->has_any(player::Role::kDefend);
}

}  // namespace

void WorkerImpl::tell(const char* name, const protocol::UnitKey& unit, std::string detail) const {
    spdlog::info("{}: {}{}{}", protocol::name_unit(unit), name, detail.empty() ? "" : " ", detail);
    if (options_.on_event) options_.on_event({name, unit, std::move(detail)});
}

Result<bool> WorkerImpl::run_once(const std::stop_token& stop) {
    // While units are open, a poll must not keep them waiting.
    const auto wait = journal_.entries().empty()
                          ? options_.poll_wait
                          : std::min(options_.poll_wait, options_.track_every);
    GYM_TRY(const std::optional<rpc::Task> task, coordinator_.next_task(wait));
    if (!task) {
        explain_idle();
        return false;
    }
    const auto* train = std::get_if<rpc::TrainTask>(&*task);
    if (train == nullptr)
        return fail(ErrorCode::kConflict, "this node is registered as a verifier, not as a worker");
    const Status done = carry_out(*train, stop);
    set_activity({});
    if (!done.ok()) return done.error().in(protocol::name_unit(train->unit));
    return true;
}

/// Says once that the coordinator gives this node nothing for its stake, and once that it does.
void WorkerImpl::explain_idle() {
    const auto now = std::chrono::steady_clock::now();
    if (asked_why_idle_ && now - *asked_why_idle_ < kAskWhyIdleEvery) return;
    asked_why_idle_ = now;
    const auto status = coordinator_.node_status(std::nullopt);
    if (!status.ok() || status->stake_because == stake_because_) return;
    stake_because_ = status->stake_because;
    if (stake_because_.empty())
        spdlog::info("stake: enough for this network now");
    else
        spdlog::warn("idle: {}", stake_because_);
    if (options_.on_event) options_.on_event({"idle", {}, stake_because_});
}

Status WorkerImpl::carry_out(const rpc::TrainTask& task, const std::stop_token& stop) {
    GYM_CHECK(check_task(task));
    if (const JournalEntry* known = journal_.find(protocol::unit_id(task.unit)))
        return deliver(*known, stop);  // signed before: that commitment or none
    GYM_CHECK(check_not_signed(task));
    if (task.deadline_ms != 0 && clock_.now_ms() >= task.deadline_ms)
        return fail(ErrorCode::kTimeout, "its deadline has passed");
    if (options_.chain != nullptr)
        GYM_CHECK(wait_for_round(*options_.chain, task.record, options_.chain_wait, stop));
    tell("started", task.unit,
         std::to_string(task.record.steps) + " steps" +
             (options_.chain == nullptr ? "" : ", its round record is on chain"));
    GYM_TRY(const engine::UnitResult result,
            execute(task.record, task.inputs, task.unit, From::kCheckpoint, stop));
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

/// Before anything is computed: a unit that was signed under another round record cannot be signed
/// again, however the coordinator explains it.
Status WorkerImpl::check_not_signed(const rpc::TrainTask& task) {
    GYM_TRY(const std::optional<Signed> known, signatures_.find(task.unit));
    if (!known || known->round_record == protocol::hash(task.record)) return {};
    return fail(ErrorCode::kConflict,
                "this node signed for it under round record " + known->round_record.hex() +
                    ", the coordinator now serves " + protocol::hash(task.record).hex() +
                    ": nothing is signed for a unit twice");
}

Result<engine::UnitResult> WorkerImpl::execute(const protocol::RoundRecord& record,
                                               const rpc::UnitInputs& inputs,
                                               const protocol::UnitKey& unit, From from,
                                               const std::stop_token& stop) {
    set_activity({unit, 0, record.steps, "download"});
    GYM_TRY(const TrainInputs loaded, loader_.load_train(record, inputs));
    set_activity({unit, 0, record.steps, "run"});
    const CheckpointKey key{protocol::unit_id(unit), protocol::unit_spec(record, unit.slot)};
    engine::RunOptions run;
    run.engine = options_.engine;
    run.cancel = stop;
    run.progress = [&](const engine::UnitProgress& progress) {
        set_activity({unit, progress.step, progress.steps, "run"});
        if (options_.on_progress) options_.on_progress(progress);
    };
    std::optional<engine::UnitPosition> position;
    CheckpointPlan plan(checkpoints_, key, options_.checkpoint_every, stop,
                        options_.engine.threads);
    if (from == From::kCheckpoint) {
        position = checkpoints_.load(key, options_.engine.threads);
        run.resume = position ? &*position : nullptr;
        run.after_step = [&plan](const engine::Trainer& trainer,
                                 std::span<const engine::StepRecord> records) {
            plan.after_step(trainer, records);
        };
    }
    if (position) tell("resumed", unit, "from step " + std::to_string(position->records.size()));
    auto result = engine::run_unit(*loaded.program, loaded.base, *loaded.dataset, key.spec, run);
    // Whatever is wrong with a position, the next attempt must not meet it again.
    if (position && !result.ok() && result.error().code != ErrorCode::kCancelled)
        checkpoints_.remove(key.unit);
    return result;
}

Result<protocol::SignedCommitment> WorkerImpl::sign(const protocol::UnitKey& unit,
                                                    const protocol::UnitCommitment& commitment) {
    GYM_TRY(const rpc::NetworkInfo network, coordinator_.network());
    const crypto::Eip712Domain domain = network.domain();
    // On disk first: the signature may leave this process in any way from here on.
    GYM_CHECK(signatures_.add(
        unit, {commitment.round_record, protocol::signing_digest(domain, commitment)}));
    return protocol::sign(domain, commitment, key_);
}

Result<JournalEntry> WorkerImpl::commit(const rpc::TrainTask& task,
                                        const engine::UnitResult& result) {
    const protocol::RoundRecord& record = task.record;
    if (options_.check_signing) GYM_CHECK(options_.check_signing());
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
    JournalEntry entry;
    entry.unit = task.unit;
    entry.record = record;
    entry.inputs = task.inputs;
    GYM_TRY(entry.commitment, sign(task.unit, commitment));
    entry.records = engine::encode_records(result.records);
    // The delta first: a journal entry promises that it can be delivered.
    GYM_CHECK(cache_.store().put(result.delta_root, result.delta));
    GYM_CHECK(journal_.save(entry));
    GYM_CHECK(stand_by(entry, 0));
    checkpoints_.remove(entry.unit_id());
    tell("committed", task.unit, "last loss " + std::to_string(result.last_loss));
    return entry;
}

Result<std::unique_ptr<Worker>> Worker::open(rpc::Coordinator& coordinator,
                                             const crypto::PrivateKey& key, const Clock& clock,
                                             WorkerOptions options) {
    GYM_TRY(UnitJournal journal, UnitJournal::open(options.data_dir / "units"));
    GYM_TRY(SignatureLog signatures, SignatureLog::open(options.data_dir / "signed"));
    GYM_TRY(CheckpointStore checkpoints, CheckpointStore::open(options.data_dir / "checkpoints"));
    WorkerImpl::Files files{std::move(journal), std::move(signatures), std::move(checkpoints)};
    GYM_TRY(rpc::BlobCache cache, rpc::BlobCache::open(options.data_dir / "blobs", coordinator));
    return std::unique_ptr<Worker>(std::make_unique<WorkerImpl>(
        coordinator, key, clock, std::move(options), std::move(cache), std::move(files)));
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
        if (done.ok() && options.check_signing) {
            done = options.check_signing();
            if (!done.ok() && !has_claims_to_defend(options)) return done;
            if (!done.ok()) done = done.error().in("DISPUTES: no unit is asked for");
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
