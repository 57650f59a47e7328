#include "gym/verifier/verifier.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "accusation.hpp"
#include "gym/crypto/secret.hpp"
#include "gym/node/backoff.hpp"
#include "gym/protocol/report_claim.hpp"
#include "gym/verifier/chain_audit.hpp"
#include "gym/verifier/round_commitments.hpp"
#include "verifier_impl.hpp"

namespace gym::verifier {

/// Removes what earlier jobs left in the data folder.
void VerifierImpl::tidy() {
    const auto now = std::chrono::steady_clock::now();
    if (tidied_ && now - *tidied_ < node::kTidyEvery) return;
    tidied_ = now;
    node::remove_idle(cache_, [this](const Digest& blob) { return needs(blob); });
}

Result<bool> VerifierImpl::run_once(const std::stop_token& stop) {
    tidy();
    look_at_next_records();
    GYM_TRY(const std::optional<records::Task> task, coordinator_.next_task(options_.poll_wait));
    if (!task) return false;
    if (std::holds_alternative<records::TrainTask>(*task))
        return fail(ErrorCode::kConflict, "this node is registered as a worker, not as a verifier");
    const auto* prefix = std::get_if<records::PrefixTask>(&*task);
    const Status done = prefix != nullptr ? carry_out(*prefix, stop)
                                          : carry_out(std::get<records::VerifyTask>(*task), stop);
    set_activity({});
    if (done.ok()) return true;
    const protocol::UnitKey& unit =
        prefix != nullptr ? prefix->unit : std::get<records::VerifyTask>(*task).unit;
    return done.error().in("verifying " + protocol::name_unit(unit));
}

Status VerifierImpl::carry_out(const records::VerifyTask& task, const std::stop_token& stop) {
    GYM_TRY(std::optional<PendingReport> pending,
            journal_.find(protocol::unit_id(task.unit), task.draw));
    if (!pending) {
        if (task.report_committed)
            return fail(ErrorCode::kNotFound,
                        "a report was committed to, but it is not in this data directory");
        GYM_TRY(pending, compute(task, stop));
        accuse(task, *pending);  // first: what was audited is not in the journal
        GYM_CHECK(journal_.save(*pending));
    } else {
        accuse(task, *pending);
    }
    return report(task, *pending);
}

ReexecutionOptions VerifierImpl::run_options(const protocol::UnitKey& unit,
                                             const std::stop_token& stop) {
    ReexecutionOptions options;
    options.engine = options_.engine;
    options.stop = stop;
    options.progress = [this, unit](const engine::UnitProgress& progress) {
        set_activity({unit, progress.step, progress.steps, "verify"});
        if (options_.on_progress) options_.on_progress(progress);
    };
    return options;
}

/// Everything that made this task is looked up on the chain. Faults of the coordinator in
/// other units of the round are no reason to refuse this one, but are reported.
Status VerifierImpl::check_chain(const records::VerifyTask& task,
                                 const records::NetworkDescription& network) {
    if (options_.chain == nullptr) return {};
    const std::uint32_t delay_blocks = options_.beacon_delay_blocks != 0
                                           ? options_.beacon_delay_blocks
                                           : network.beacon_delay_blocks;
    GYM_TRY(const EpochOnChain epoch,
            check_on_chain(*options_.chain, coordinator_, task, delay_blocks));
    if (is_aggregate(task)) {
        if (audited_aggregate_ != task.unit)
            GYM_CHECK(audit_deltas(task, epoch.root, delay_blocks, network.domain()));
        audited_aggregate_ = task.unit;
        GYM_CHECK(watch_round(task));
    }
    if (is_evaluation(task)) GYM_CHECK(compare_aggregate(task));
    const Digest round = protocol::hash(task.record);
    // The epoch of a late unit is another round's.
    if (audited_ == round || task.late) return {};
    std::optional<protocol::RoundRecord> record = task.round;
    if (!record) {
        GYM_TRY(record, whole_record(coordinator_, task.record));
    }
    GYM_TRY(const auto contradictions,
            audit_sample(coordinator_, *record, epoch, task.delta_norm_factor.has_value()));
    audited_ = round;
    for (const std::string& sentence : contradictions)
        contradict(task.unit, sentence);
    return {};
}

Result<PendingReport> VerifierImpl::compute(const records::VerifyTask& task,
                                            const std::stop_token& stop) {
    GYM_TRY(const records::NetworkDescription network, coordinator_.network());
    const Status task_ok = check_task(network.domain(), task);
    if (!task_ok.ok() && (is_aggregate(task) || is_evaluation(task)))
        mistrust(task.unit, task_ok.error().message);
    GYM_CHECK(task_ok);
    GYM_CHECK(check_chain(task, network));
    if (auto late = take_late(task)) return *std::move(late);
    emit("started", task.unit,
         "committed by " + task.committer.hex() +
             (options_.chain == nullptr ? "" : "; round, root, beacon and draw are the chain's"));
    set_activity({task.unit, 0, task.commitment.commitment.steps, "verify"});
    PendingReport pending;
    pending.beacon = task.beacon;
    protocol::Report& report = pending.report;
    report.unit = protocol::unit_id(task.unit);
    report.draw = task.draw;
    report.verifier = key_.address();
    report.challenge_signature = key_.sign_digest(
        protocol::trace_challenge_digest(network.domain(), task.beacon, report.unit));
    const auto result =
        reexecute(loader_, deltas_, task, report.challenge_signature, run_options(task.unit, stop));
    for (const node::WrongDelta& wrong : deltas_.take_wrong(rounds_of(task)))
        accuse_delta(task, wrong);
    if (!result.ok() && result.error().code == ErrorCode::kMismatch && is_evaluation(task))
        mistrust(task.unit, result.error().message);
    if (!result.ok()) ask_for_inputs(task, result.error());
    if (!result.ok()) return result.error();
    note_inputs(task);
    report.records_root = result->roots.records;
    report.final_state_root = result->roots.final_state;
    report.delta_root = result->roots.delta;
    report.trace = result->trace;
    report.salt = crypto::random_digest();
    pending.records = engine::encode_records(result->records);
    return pending;
}

/// A coordinator has a reason to keep the inputs of wrong units to itself: nobody can check these
/// units then. The inputs are asked for on chain.
void VerifierImpl::ask_for_inputs(const records::VerifyTask& task, const Error& error) {
    if (options_.claims == nullptr || options_.chain == nullptr) return;
    if (is_evaluation(task) || !is_want_of_inputs(error.code)) return;
    for (const game::WithheldData& data : withheld_.missed(task, cache_.store(), timer_.now()))
        if (challenge(task.unit, ask_for(*options_.chain, task, data))) withheld_.asked(task);
}

/// The inputs of the unit are there, as they had to be.
void VerifierImpl::note_inputs(const records::VerifyTask& task) {
    if (is_aggregate(task) || is_evaluation(task)) return;  // these do without the dataset
    withheld_.found(task);
    if (options_.claims == nullptr) return;
    if (const Status done = withdraw_claims(*options_.claims, task.record); !done.ok())
        spdlog::error("what is there is asked for on chain: {}", done.error().message);
}

/// The report that an earlier draw of this verifier finished too late.
std::optional<PendingReport> VerifierImpl::take_late(const records::VerifyTask& task) {
    auto late = late_.take(protocol::hash(task.record), protocol::unit_id(task.unit), task.beacon);
    if (!late) return std::nullopt;
    late->report.draw = task.draw;
    late->report.salt = crypto::random_digest();
    emit("resumed", task.unit, "was run for an earlier draw");
    return late;
}

/// The coordinator no longer accepts the report.
Status VerifierImpl::drop(const records::VerifyTask& task, const PendingReport& pending,
                          const Error& why) {
    emit("dropped", task.unit, why.message);
    if (!is_aggregate(task)) late_.keep(protocol::hash(task.record), pending);
    GYM_CHECK(journal_.remove(pending.report.unit, pending.report.draw));
    return why;
}

/// The signature on which the verifier stakes. What it stands for is filed before anybody sees it,
/// or a game that is opened about it at once would be lost by the clock.
Result<std::optional<crypto::Signature>> VerifierImpl::stand_for(const records::VerifyTask& task,
                                                                 const protocol::Report& report) {
    using Signed = std::optional<crypto::Signature>;
    const bool can_defend = options_.claims != nullptr && options_.chain != nullptr;
    const bool by_worker = task.commitment.commitment.kind == protocol::UnitKind::kTrain;
    if (!by_worker || options_.report_game.is_zero() || !can_defend) return Signed();
    GYM_TRY(const records::NetworkDescription network, coordinator_.network());
    if (network.minimum_verifier_stake.is_zero()) return Signed();
    const auto said =
        protocol::sign(protocol::report_domain(network.chain_id, options_.report_game),
                       protocol::claim_of(report, task.commitment.commitment), key_);
    GYM_TRY(const auto epoch, epoch_on_chain(*options_.chain, task.record, task.late));
    const player::Claim claim = defend_report(task, said, epoch.block);
    if (!options_.claims->contains(claim)) GYM_CHECK(options_.claims->save(claim));
    return Signed(said.signature);
}

Status VerifierImpl::report(const records::VerifyTask& task, const PendingReport& pending) {
    const protocol::Report& report = pending.report;
    const auto claimed = coordinator_.submit_report_commit(
        {report.unit, report.draw, protocol::report_digest(pending.beacon, report)});
    if (!claimed.ok()) {
        if (node::is_transient(claimed.error().code)) return claimed.error();
        if (is_other_aggregate(task, report))
            mistrust(task.unit,
                     "the aggregate does not follow from the deltas shown, and the coordinator "
                     "does not show its step record");
        return drop(task, pending, claimed.error());
    }
    emit("reported", task.unit, "");
    if (is_other_aggregate(task, report)) accuse_aggregate(task, pending, *claimed);
    GYM_TRY(const auto signature, stand_for(task, report));
    const auto verified = coordinator_.submit_report_reveal({report, pending.records, signature});
    if (!verified.ok() && node::is_transient(verified.error().code)) return verified.error();
    if (!verified.ok()) return drop(task, pending, verified.error());
    GYM_CHECK(journal_.remove(report.unit, report.draw));
    if (*verified && differs(task, report))
        contradict(task.unit, "the coordinator calls a report equal that differs");
    else if (*verified)
        emit("verified", task.unit, "");
    if (*verified) return release(task);
    std::optional<engine::RecordDifference> where;
    const auto theirs = engine::decode_records(*claimed);
    const auto ours = engine::decode_records(pending.records);
    if (theirs.ok() && ours.ok()) where = engine::find_first_difference(*ours, *theirs);
    emit("differs", task.unit,
         is_evaluation(task) ? std::string("it has other losses, or another state")
         : where ? "first at step " + std::to_string(where->step) + ", in its " + where->field
                 : std::string("all step records agree, a result does not"),
         where);
    return release(task);
}

/// Whatever the coordinator decides about the report: the coordinator may be wrong.
void VerifierImpl::accuse(const records::VerifyTask& task, const PendingReport& pending) {
    if (is_aggregate(task) && is_other_aggregate(task, pending.report)) return;  // not yet
    if (is_aggregate(task)) return accuse_aggregate(task, pending, pending.records);
    // No game is about one: what it is worth to say so is that everybody can compute it again.
    if (is_evaluation(task) && differs(task, pending.report))
        return mistrust(task.unit, "the signed validation loss is not that of the base state");
    if (is_evaluation(task)) return;
    if (options_.claims == nullptr || options_.chain == nullptr) return;
    if (differs(task, pending.report))
        challenge(task.unit, accuse_unit(coordinator_, *options_.chain, task));
}

/// Drops what only this unit's round needs, unless it is played for or the next base state is made
/// of it. Program and dataset stay for the next one.
Status VerifierImpl::release(const records::VerifyTask& task) {
    std::vector<Digest> blobs;
    for (const protocol::IncludedDelta& delta : task.deltas)
        blobs.push_back(delta.delta_root);
    // A round's aggregate comes after its train units: no later task needs its base state.
    if (is_aggregate(task)) {
        blobs.push_back(task.inputs.base_state_blob);
        if (task.inputs.momentum_blob) blobs.push_back(*task.inputs.momentum_blob);
    }
    std::ranges::copy(loader_.take_released(), std::back_inserter(blobs));
    for (const Digest& blob : blobs)
        if (!needs(blob)) GYM_CHECK(cache_.store().remove(blob));
    return {};
}

Result<std::unique_ptr<Verifier>> Verifier::open(rpc::Coordinator& coordinator,
                                                 const crypto::PrivateKey& key,
                                                 VerifierOptions options) {
    GYM_TRY(ReportJournal journal, ReportJournal::open(options.data_dir / "reports"));
    GYM_TRY(rpc::BlobCache cache, rpc::BlobCache::open(options.data_dir / "blobs", coordinator,
                                                       vault::StoreKey::of(key)));
    if (options.swarm != nullptr) cache.share_through(*options.swarm);
    GYM_TRY(RoundWatch watch, RoundWatch::open(options.data_dir / "rounds"));
    return std::unique_ptr<Verifier>(
        std::make_unique<VerifierImpl>(coordinator, key, std::move(options), std::move(cache),
                                       std::move(journal), std::move(watch)));
}

Status run_verifier(Verifier& verifier, const std::stop_token& stop,
                    const std::function<Status(const Error&)>& check_device) {
    node::SteadyTimer timer;
    node::Backoff backoff(timer);
    while (!stop.stop_requested()) {
        const auto ran = verifier.run_once(stop);
        if (ran.ok()) {
            backoff.succeeded();
        } else if (ran.error().code != ErrorCode::kCancelled) {
            if (check_device) GYM_CHECK(check_device(ran.error()));
            backoff.failed(ran.error(), stop);
        }
    }
    return {};
}

}  // namespace gym::verifier
