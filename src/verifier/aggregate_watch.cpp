#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "accusation.hpp"
#include "gym/node/backoff.hpp"
#include "gym/verifier/chain_audit.hpp"
#include "gym/verifier/shown_deltas.hpp"
#include "gym/verifier/withdrawn_deltas.hpp"
#include "verifier_impl.hpp"

// A verifier's checks of the coordinator: it examines the deltas of an aggregate and the rounds
// after it, and leaves to the player the units that need a game.

namespace gym::verifier {

namespace {

/// Whether it is known that these were not all committed to: deltas of the record's round, by
/// commitments that are all under the roots of `epochs`.
bool lacks(const Digest& record, std::span<const RoundCommitments* const> epochs,
           std::span<const protocol::IncludedDelta> deltas) {
    std::vector<protocol::SignedCommitment> all;
    for (const RoundCommitments* const epoch : epochs) {
        if (epoch->epoch.empty()) return false;
        std::ranges::copy_if(epoch->epoch, std::back_inserter(all), [&](const auto& one) {
            return one.commitment.round_record == record;
        });
    }
    return !can_be_committed(deltas, all);
}

}  // namespace

/// Audits the choice of deltas. A wrong choice does not prevent computing their aggregate.
Status VerifierImpl::audit_deltas(const records::VerifyTask& task,
                                  const node::ChainView::Epoch& epoch, std::uint32_t delay_blocks,
                                  const crypto::Eip712Domain& domain) {
    AuditedRounds rounds;
    GYM_TRY(rounds.own, round_commitments(coordinator_, task.record, epoch));
    if (task.earlier) {
        GYM_TRY(const auto before, epoch_on_chain(*options_.chain, task.earlier->record));
        GYM_TRY(rounds.earlier,
                round_commitments(coordinator_, protocol::head_of(task.earlier->record), before));
        if (task.overlap) {
            GYM_TRY(rounds.earlier_beacon, beacon_of(*options_.chain, before, delay_blocks));
        }
    }
    GYM_TRY(const auto program, loader_.load_program(task.record, task.inputs.program_blob));
    const auto norm_of = [&](const protocol::IncludedDelta& asked) -> Result<double> {
        const Digest& root = asked.delta_root;
        const node::DeltaRound of =
            asked.held ? node::DeltaRound{task.earlier->record, task.earlier->inputs}
                       : node::DeltaRound{*task.round, task.inputs};
        GYM_TRY(const blob::VerifiedBlob blob, deltas_.fetch(of, {asked.slot, root}));
        GYM_TRY(const engine::Delta delta, engine::Delta::decode(*program, blob));
        // The aggregate's own are needed again to make it.
        const bool needed = std::ranges::any_of(
            task.deltas, [&](const auto& included) { return included.delta_root == root; });
        if (!needed) GYM_CHECK(cache_.store().remove(root));
        return delta.norm();
    };
    GYM_TRY(const auto contradictions, audit_inclusion(task, rounds, norm_of));
    for (const std::string& sentence : contradictions)
        contradict(task.unit, sentence);
    uncommitted_.reset();
    GYM_TRY(const WithdrawnAudit withdrawn,
            audit_withdrawn(*options_.chain, coordinator_, task, domain));
    for (const std::string& sentence : withdrawn.contradictions)
        contradict(task.unit, sentence);
    const std::span all =
        std::span(task.deltas).first(task.deltas.size() - withdrawn.sources.size());
    const std::size_t timely = all.size() - protocol::held_of(all);
    const std::array own{&rounds.own};
    const std::array both{&rounds.earlier, &rounds.own};
    if (withdrawn.has_groundless() || lacks(protocol::hash(task.record), own, all.first(timely)) ||
        (task.earlier && lacks(protocol::hash(task.earlier->record), both, all.subspan(timely))))
        uncommitted_ =
            Uncommitted{task.unit, rounds.own.epoch, rounds.earlier.epoch, withdrawn.sources};
    return {};
}

/// The next round must continue from this aggregate, and no one may be shown another one.
Status VerifierImpl::watch_round(const records::VerifyTask& task) {
    GYM_TRY(const WatchedRound first, watch_.add({*task.round, task.commitment, task.deltas}));
    accuse_other(first, task.commitment);
    return {};
}

/// @param other may be the same as the one that was shown first.
void VerifierImpl::accuse_other(const WatchedRound& first,
                                const protocol::SignedCommitment& other) {
    if (!protocol::is_equivocation(first.commitment.commitment, other.commitment)) return;
    contradict(first.unit(), "two different commitments to it are signed");
    if (options_.claims != nullptr)
        challenge(first.unit(),
                  accuse_conflict(first, protocol::encode(other), options_.claims->head()));
}

/// The aggregate whose state is evaluated is the one that others are shown.
Status VerifierImpl::compare_aggregate(const records::VerifyTask& evaluation) {
    if (!evaluation.aggregate) {
        GYM_TRY(const bool posted,
                options_.chain->has_aggregate(evaluation.unit.job_id, evaluation.unit.round));
        if (posted)
            mistrust(evaluation.unit,
                     "the evaluation is of the state that the round began from, and the chain has "
                     "an aggregate of the round");
        return {};
    }
    const Digest record = protocol::hash(evaluation.record);
    for (const WatchedRound& first : watch_.list())
        if (protocol::hash(first.record) == record) accuse_other(first, *evaluation.aggregate);
    return {};
}

/// Never keeps a task waiting: what cannot be looked at now is looked at later.
void VerifierImpl::look_at_next_records() {
    if (options_.chain == nullptr) return;
    const std::vector<WatchedRound> rounds = watch_.list();
    for (const WatchedRound& round : rounds) {
        const Status looked = look_at_next_record(round);
        if (looked.ok() || node::is_transient(looked.error().code)) continue;
        const std::string failing =
            protocol::name_unit(round.unit()) + ": the record after it: " + looked.error().message;
        if (failing != failing_) spdlog::warn("{}", failing);
        failing_ = failing;
    }
}

Status VerifierImpl::look_at_next_record(const WatchedRound& round) {
    if (round.record.round == std::numeric_limits<std::uint64_t>::max())
        return watch_.remove(round.unit());  // nothing comes after it
    const std::uint64_t number = round.record.round + 1;
    GYM_TRY(const auto posted, options_.chain->round(round.record.job_id, number));
    if (!posted) return {};
    // In its bytes: one that does not decode is told, too.
    GYM_TRY(const Bytes next, coordinator_.round_record(round.record.job_id, number));
    if (protocol::hash_round_head(next) != posted->record_hash)
        return fail(ErrorCode::kMismatch,
                    "the coordinator serves another one than the chain has the hash of");
    const NextRecordAudit audit = audit_next_record(round, next);
    for (const std::string& sentence : audit.contradictions)
        contradict(round.unit(), sentence);
    if (audit.conflict && options_.claims != nullptr)
        challenge(round.unit(), accuse_conflict(round, next, options_.claims->head()));
    return watch_.remove(round.unit());
}

/// Nobody can compute an aggregate that was made from what no unit gives, and a game about it
/// cannot be won. Who committed to that can be challenged, whenever the coordinator and the chain
/// show all that it takes: told once, it is tried until the claim is there.
void VerifierImpl::accuse_delta(const records::VerifyTask& aggregate,
                                const node::WrongDelta& wrong) {
    const auto& [slot, root, held, age] = wrong.claimed;
    if (age != 0) return;  // proven wrong already
    const protocol::UnitKey unit{aggregate.unit.job_id, aggregate.unit.round - (held ? 1 : 0), slot,
                                 0};
    if (!wrong.named)
        contradict(unit, "the aggregate has delta " + root.hex() + " of " +
                             protocol::name_unit(unit) +
                             ", which running the unit again does not give: that is " +
                             wrong.computed.hex());
    if (options_.claims == nullptr || options_.chain == nullptr) return;
    const auto view = coordinator_.unit(protocol::unit_id(unit));
    if (!view.ok()) {
        challenge(unit, view.error());
        return;
    }
    // Only the coordinator that includes another delta is at fault (audit_inclusion).
    const std::optional<protocol::SignedCommitment>& commitment = view->commitment;
    if (!commitment || commitment->commitment.delta_root != root) return;
    records::VerifyTask train = aggregate;
    train.unit = unit;
    train.record =
        protocol::unit_record(held ? aggregate.earlier->record : *aggregate.round, unit.slot);
    train.commitment = *commitment;
    if (held) {
        train.inputs = aggregate.earlier->inputs;
        train.late = view->status.late && train.record.accept_late;
    }
    if (challenge(unit, accuse_unit(coordinator_, *options_.chain, train))) deltas_.settle(wrong);
}

/// A game is decided by the deltas that were committed to, and no one signed the task's list: a
/// challenger that plays for a list that only this verifier was shown loses its bond.
/// @param claimed the step records that are said to be the commitment's.
void VerifierImpl::accuse_aggregate(const records::VerifyTask& task, const PendingReport& pending,
                                    ByteView claimed) {
    const auto records = engine::decode_records(claimed);
    const Status shown = records.ok() ? check_shown_deltas(task, *records) : records.error();
    if (!shown.ok()) return mistrust(task.unit, shown.error().message);
    if (options_.claims == nullptr || options_.chain == nullptr) return;
    const bool uncommitted = uncommitted_ && uncommitted_->unit == task.unit;
    if (!uncommitted && !differs(task, pending.report)) return;
    auto claim = accuse_unit(coordinator_, *options_.chain, task);
    // As they were when they were audited: without them right sums are not to be won against.
    if (uncommitted && claim.ok()) {
        claim->epoch = uncommitted_->epoch;
        if (claim->held) claim->held->epoch = uncommitted_->earlier_epoch;
        claim->withdrawn = uncommitted_->withdrawn;
    }
    challenge(task.unit, claim);
}

void VerifierImpl::mistrust(const protocol::UnitKey& unit, const std::string& sentence) {
    std::pair now(unit, sentence);
    if (mistrusted_ == now) return;
    mistrusted_ = std::move(now);
    contradict(unit, sentence);
}

/// Leaves it to the thread that plays; the report stands without it. @return whether it is there.
bool VerifierImpl::challenge(const protocol::UnitKey& unit, const Result<player::Claim>& claim) {
    if (claim.ok() && options_.claims->contains(*claim)) return true;  // announced already, perhaps
    const Status saved = claim.ok() ? options_.claims->save(*claim) : claim.error();
    if (saved.ok())
        emit("challenged", unit, "a game about it follows on chain");
    else
        spdlog::error("{} is not challenged on chain: {}", protocol::name_unit(unit),
                      saved.error().message);
    return saved.ok();
}

}  // namespace gym::verifier
