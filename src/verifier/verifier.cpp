#include "gym/verifier/verifier.hpp"

#include <spdlog/spdlog.h>

#include <mutex>
#include <utility>

#include "gym/commit/merkle.hpp"
#include "gym/common/file.hpp"
#include "gym/crypto/secret.hpp"
#include "gym/protocol/reason.hpp"
#include "gym/rpc/blob_cache.hpp"
#include "gym/verifier/chain_audit.hpp"
#include "gym/verifier/reexecution.hpp"
#include "gym/verifier/report_journal.hpp"
#include "gym/worker/patience.hpp"

namespace gym::verifier {
namespace {

class VerifierImpl final : public Verifier {
  public:
    VerifierImpl(rpc::Coordinator& coordinator, const crypto::PrivateKey& key,
                 VerifierOptions options, rpc::BlobCache cache, ReportJournal journal)
        : coordinator_(coordinator),
          key_(key),
          options_(std::move(options)),
          cache_(std::move(cache)),
          journal_(std::move(journal)),
          loader_(cache_) {}

    Result<bool> run_once(const std::stop_token& stop) override;
    [[nodiscard]] rpc::Activity activity() const override {
        const std::scoped_lock lock(mutex_);
        return activity_;
    }

  private:
    Status carry_out(const rpc::VerifyTask& task, const std::stop_token& stop);
    Status check_chain(const rpc::VerifyTask& task, const rpc::NetworkInfo& network);
    Result<PendingReport> compute(const rpc::VerifyTask& task, const std::stop_token& stop);
    Status report(const rpc::VerifyTask& task, const PendingReport& pending,
                  const std::stop_token& stop);
    void keep_trace(const rpc::VerifyTask& task, std::uint64_t step, const std::stop_token& stop);
    void challenge(const rpc::VerifyTask& task);
    Result<player::Claim> make_claim(const rpc::VerifyTask& task);
    Status release(const rpc::VerifyTask& task);
    [[nodiscard]] ReexecutionOptions run_options(const rpc::VerifyTask& task,
                                                 const std::stop_token& stop);

    void set_activity(rpc::Activity activity) {
        const std::scoped_lock lock(mutex_);
        activity_ = std::move(activity);
    }
    void tell(const char* name, const protocol::UnitKey& unit, std::string detail,
              std::optional<engine::RecordDifference> where = std::nullopt) const {
        spdlog::info("{}: {} {}", protocol::name_unit(unit), name, detail);
        if (options_.on_event) options_.on_event({name, unit, std::move(detail), std::move(where)});
    }

    rpc::Coordinator& coordinator_;
    const crypto::PrivateKey& key_;
    const VerifierOptions options_;
    rpc::BlobCache cache_;
    ReportJournal journal_;
    worker::InputLoader loader_;
    std::optional<Digest> audited_;  ///< record of the round whose sample was compared last
    mutable std::mutex mutex_;
    rpc::Activity activity_;
};

Result<bool> VerifierImpl::run_once(const std::stop_token& stop) {
    GYM_TRY(const std::optional<rpc::Task> task, coordinator_.next_task(options_.poll_wait));
    if (!task) return false;
    const auto* verify = std::get_if<rpc::VerifyTask>(&*task);
    if (verify == nullptr)
        return fail(ErrorCode::kConflict, "this node is registered as a worker, not as a verifier");
    const Status done = carry_out(*verify, stop);
    set_activity({});
    if (!done.ok()) return done.error().in("verifying " + protocol::name_unit(verify->unit));
    return true;
}

Status VerifierImpl::carry_out(const rpc::VerifyTask& task, const std::stop_token& stop) {
    GYM_TRY(std::optional<PendingReport> pending,
            journal_.find(protocol::unit_id(task.unit), task.draw));
    if (!pending) {
        if (task.report_committed)
            return fail(ErrorCode::kNotFound,
                        "a report was committed to, but it is not in this data directory");
        GYM_TRY(pending, compute(task, stop));
        GYM_CHECK(journal_.save(*pending));
    }
    return report(task, *pending, stop);
}

ReexecutionOptions VerifierImpl::run_options(const rpc::VerifyTask& task,
                                             const std::stop_token& stop) {
    ReexecutionOptions options;
    options.engine = options_.engine;
    options.stop = stop;
    options.progress = [this, unit = task.unit](const engine::UnitProgress& progress) {
        set_activity({unit, progress.step, progress.steps, "verify"});
        if (options_.on_progress) options_.on_progress(progress);
    };
    return options;
}

/// Everything that made this task is looked up on the chain. What the coordinator did with other
/// units of the round is no reason to refuse this one, but everyone should know.
Status VerifierImpl::check_chain(const rpc::VerifyTask& task, const rpc::NetworkInfo& network) {
    if (options_.chain == nullptr) return {};
    const std::uint32_t delay_blocks = options_.beacon_delay_blocks != 0
                                           ? options_.beacon_delay_blocks
                                           : network.beacon_delay_blocks;
    GYM_TRY(const EpochOnChain epoch,
            check_on_chain(*options_.chain, coordinator_, task, delay_blocks));
    const Digest round = protocol::hash(task.record);
    if (audited_ == round) return {};
    GYM_TRY(const auto contradictions, audit_sample(coordinator_, task.record, epoch.beacon));
    audited_ = round;
    for (const std::string& sentence : contradictions) {
        spdlog::error("the coordinator's sample is not the beacon's: {}", sentence);
        tell("contradiction", task.unit, sentence);
    }
    return {};
}

Result<PendingReport> VerifierImpl::compute(const rpc::VerifyTask& task,
                                            const std::stop_token& stop) {
    GYM_TRY(const rpc::NetworkInfo network, coordinator_.network());
    GYM_CHECK(check_task(network.domain(), task));
    GYM_CHECK(check_chain(task, network));
    tell("started", task.unit,
         "committed by " + task.committer.hex() +
             (options_.chain == nullptr ? "" : "; round, root, beacon and draw are the chain's"));
    set_activity({task.unit, 0, task.record.steps, "verify"});
    PendingReport pending;
    pending.beacon = task.beacon;
    protocol::Report& report = pending.report;
    report.unit = protocol::unit_id(task.unit);
    report.draw = task.draw;
    report.verifier = key_.address();
    report.challenge_signature = key_.sign_digest(
        protocol::trace_challenge_digest(network.domain(), task.beacon, report.unit));
    GYM_TRY(const Reexecution result,
            reexecute(loader_, cache_, task, report.challenge_signature, run_options(task, stop)));
    report.records_root = result.records_root;
    report.final_state_root = result.final_state_root;
    report.delta_root = result.delta_root;
    report.trace = result.trace;
    report.salt = crypto::random_digest();
    pending.records = engine::encode_records(result.records);
    return pending;
}

Status VerifierImpl::report(const rpc::VerifyTask& task, const PendingReport& pending,
                            const std::stop_token& stop) {
    const protocol::Report& report = pending.report;
    const auto claimed = coordinator_.submit_report_commit(
        {report.unit, report.draw, protocol::report_digest(pending.beacon, report)});
    if (!claimed.ok()) {
        if (worker::is_transient(claimed.error().code)) return claimed.error();
        tell("dropped", task.unit, claimed.error().message);
        GYM_CHECK(journal_.remove(report.unit, report.draw));
        return claimed.error();
    }
    tell("reported", task.unit, "");
    const auto verified = coordinator_.submit_report_reveal({report, pending.records});
    if (!verified.ok() && worker::is_transient(verified.error().code)) return verified.error();
    // Before the report is forgotten: a process that dies here reveals once more and comes back.
    if (verified.ok() && !*verified) challenge(task);
    GYM_CHECK(journal_.remove(report.unit, report.draw));
    if (!verified.ok()) {
        tell("dropped", task.unit, verified.error().message);
        return verified.error();
    }
    if (*verified) {
        tell("verified", task.unit, "");
        return release(task);
    }
    std::optional<engine::RecordDifference> where;
    const auto theirs = engine::decode_records(*claimed);
    const auto ours = engine::decode_records(pending.records);
    if (theirs.ok() && ours.ok()) where = engine::find_first_difference(*ours, *theirs);
    tell("differs", task.unit,
         where ? "first at step " + std::to_string(where->step) + ", in its " + where->field
               : std::string("all step records agree, a result does not"),
         where);
    if (where && task.commitment.commitment.kind == protocol::UnitKind::kTrain)
        keep_trace(task, where->step, stop);
    return release(task);
}

/// Leaves the unit to the thread that plays; the report stands without it.
void VerifierImpl::challenge(const rpc::VerifyTask& task) {
    if (options_.claims == nullptr || options_.chain == nullptr) return;
    if (task.commitment.commitment.kind != protocol::UnitKind::kTrain) return;
    for (const auto& known : options_.claims->list())
        if (known->key == task.unit) return;  // announced already, perhaps
    const auto claim = make_claim(task);
    const Status saved = claim.ok() ? options_.claims->save(*claim) : claim.error();
    if (saved.ok())
        tell("challenged", task.unit, "a game about it follows on chain");
    else
        spdlog::error("{} is not challenged on chain: {}", protocol::name_unit(task.unit),
                      saved.error().message);
}

Result<player::Claim> VerifierImpl::make_claim(const rpc::VerifyTask& task) {
    GYM_TRY(const rpc::UnitView view, coordinator_.unit(protocol::unit_id(task.unit)));
    if (!view.receipt) return fail(ErrorCode::kNotFound, "the coordinator has no receipt for it");
    GYM_TRY(const auto epoch, options_.chain->epoch(view.receipt->epoch));
    if (!epoch) return fail(ErrorCode::kNotFound, "its epoch is not on the chain");
    GYM_CHECK(
        commit::merkle_verify(epoch->commitments_root, {view.receipt->leaf_index, epoch->count},
                              protocol::commitment_leaf(task.commitment), view.receipt->siblings));
    player::Claim claim;
    claim.role = player::Role::kChallenge;
    claim.key = task.unit;
    claim.evidence = {task.commitment, task.record,
                      static_cast<std::uint32_t>(view.receipt->leaf_index), view.receipt->siblings};
    claim.program_blob = task.inputs.program_blob;
    claim.dataset_blob = task.inputs.dataset_blob.value_or(Digest());
    claim.base_state_blob = task.inputs.base_state_blob;
    claim.epoch_block = epoch->block;
    claim.from_block = epoch->block;
    claim.salt = crypto::random_digest();
    return claim;
}

/// For the dispute; the report stands without it.
void VerifierImpl::keep_trace(const rpc::VerifyTask& task, std::uint64_t step,
                              const std::stop_token& stop) {
    const std::filesystem::path path = trace_path(options_.data_dir, protocol::unit_id(task.unit));
    const auto trace = trace_step(loader_, task, step, run_options(task, stop));
    const Status kept = trace.ok() ? write_file_atomic(path, encode(*trace)) : trace.error();
    if (kept.ok())
        tell("traced", task.unit, path.string());
    else
        spdlog::warn("the trace of {} was not kept: {}", protocol::name_unit(task.unit),
                     kept.error().message);
}

/// Drops what only this unit's round needs. Program and dataset stay for the next one.
Status VerifierImpl::release(const rpc::VerifyTask& task) {
    for (const protocol::IncludedDelta& delta : task.deltas)
        GYM_CHECK(cache_.store().remove(delta.delta_root));
    if (task.commitment.commitment.kind != protocol::UnitKind::kAggregate) return {};
    // A round's aggregate comes after its train units: nobody asks for its base state again, but
    // who plays about one of them.
    if (options_.claims != nullptr && options_.claims->needs(task.inputs.base_state_blob))
        return {};
    if (task.inputs.momentum_blob) GYM_CHECK(cache_.store().remove(*task.inputs.momentum_blob));
    return cache_.store().remove(task.inputs.base_state_blob);
}

}  // namespace

std::filesystem::path trace_path(const std::filesystem::path& data_dir, const Digest& unit) {
    return data_dir / "traces" / (to_hex(unit.view()) + ".trace");
}

Result<std::unique_ptr<Verifier>> Verifier::open(rpc::Coordinator& coordinator,
                                                 const crypto::PrivateKey& key,
                                                 VerifierOptions options) {
    GYM_TRY(ReportJournal journal, ReportJournal::open(options.data_dir / "reports"));
    GYM_TRY(rpc::BlobCache cache, rpc::BlobCache::open(options.data_dir / "blobs", coordinator));
    std::error_code code;
    std::filesystem::create_directories(options.data_dir / "traces", code);
    if (code) return fail(ErrorCode::kIo, options.data_dir.string() + ": " + code.message());
    return std::unique_ptr<Verifier>(std::make_unique<VerifierImpl>(
        coordinator, key, std::move(options), std::move(cache), std::move(journal)));
}

Status run_verifier(Verifier& verifier, const std::stop_token& stop) {
    worker::Patience patience;
    while (!stop.stop_requested()) {
        const auto ran = verifier.run_once(stop);
        if (ran.ok())
            patience.succeeded();
        else if (ran.error().code != ErrorCode::kCancelled)
            patience.failed(ran.error(), stop);
    }
    return {};
}

}  // namespace gym::verifier
