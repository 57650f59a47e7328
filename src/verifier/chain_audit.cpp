#include "gym/verifier/chain_audit.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "gym/commit/merkle.hpp"
#include "gym/node/backoff.hpp"
#include "gym/program/train_program.hpp"
#include "gym/protocol/inclusion.hpp"
#include "gym/protocol/reason.hpp"
#include "gym/protocol/sampling.hpp"

namespace gym::verifier {
namespace {

using node::ChainView;
using protocol::UnitState;

/// Units of one audit: as many as a job's round has.
constexpr std::size_t kAuditedUnitsMax = program::kDeltasMax;

Error differs(const std::string& what, const Digest& served, const Digest& on_chain) {
    return fail(ErrorCode::kMismatch, what + ": the coordinator serves " + served.hex() +
                                          ", the chain holds " + on_chain.hex());
}

Error not_yet(const std::string& what) {
    return fail(ErrorCode::kUnavailable, what + " is not on the chain yet");
}

/// @param late of the next round's epoch.
Result<EpochOnChain> epoch_of_round(ChainView& chain, const protocol::RoundHead& record,
                                    bool late) {
    const std::string name = "round " + std::to_string(record.round);
    GYM_TRY(auto round, chain.round(record.job_id, record.round));
    if (!round) return not_yet("the record of " + name);
    const Digest hash = protocol::hash(record);
    if (round->record_hash != hash) return differs("record of " + name, hash, round->record_hash);
    GYM_CHECK(node::check_record_before(chain, record));
    if (late) {
        GYM_TRY(round, chain.round(record.job_id, record.round + 1));
        if (!round) return not_yet("the record of the round after " + name);
    }
    if (round->epoch == 0) return not_yet("the commitments root of " + name);
    EpochOnChain out;
    out.number = round->epoch;
    GYM_TRY(const auto epoch, chain.epoch(out.number));
    if (!epoch) return not_yet("epoch " + std::to_string(out.number));
    out.root = *epoch;
    return out;
}

Status check_beacon(ChainView& chain, EpochOnChain& epoch, const Digest& served,
                    std::uint32_t delay_blocks) {
    GYM_TRY(epoch.beacon, beacon_of(chain, epoch.root, delay_blocks));
    if (epoch.beacon == served) return {};
    const auto& drand = epoch.root.drand;
    return differs(drand ? "beacon of drand's round " + std::to_string(drand->round)
                         : "beacon from block " + std::to_string(epoch.root.block + delay_blocks),
                   served, epoch.beacon);
}

Status check_inclusion(rpc::Coordinator& coordinator, const EpochOnChain& epoch,
                       const records::VerifyTask& task) {
    GYM_TRY(const records::UnitReceipt view, coordinator.unit(protocol::unit_id(task.unit)));
    if (!view.inclusion)
        return fail(ErrorCode::kMismatch,
                    "the coordinator shows no proof that the commitment is under the root on "
                    "chain");
    const records::InclusionReceipt& receipt = *view.inclusion;
    if (receipt.commitments_root != epoch.root.commitments_root)
        return differs("commitments root of epoch " + std::to_string(epoch.number),
                       receipt.commitments_root, epoch.root.commitments_root);
    // Root and count from the chain, only the path from the coordinator.
    const Status proven =
        commit::merkle_verify(epoch.root.commitments_root, {receipt.leaf_index, epoch.root.count},
                              protocol::commitment_leaf(task.commitment), receipt.siblings);
    if (!proven.ok())
        return fail(ErrorCode::kMismatch,
                    "the commitment is not under the root that is on chain for epoch " +
                        std::to_string(epoch.number) + ": " + proven.error().message);
    return {};
}

/// Whether a unit was drawn, by its state; nothing for states that both kinds reach.
std::optional<bool> was_drawn(UnitState state) {
    switch (state) {
        case UnitState::kUnsampled:
            return false;
        case UnitState::kSampled:
        case UnitState::kReported:
        case UnitState::kRevealed:
        case UnitState::kVerified:
        case UnitState::kUnpaid:
            return true;
        default:
            return std::nullopt;
    }
}

/// The sample rate of a unit by its round record. @errors kMismatch for a slot that is not in it.
Result<std::uint32_t> sampling_rate(const protocol::UnitRecord& record,
                                    const protocol::UnitKey& unit) {
    if (protocol::is_coordinators(unit.slot)) return record.sampling.aggregate_ppm;
    const protocol::SlotAssignment* slot = record.find_slot(unit.slot);
    if (slot != nullptr) return slot->sampling_rate_ppm;
    return fail(ErrorCode::kMismatch, "the round record has no slot " + std::to_string(unit.slot));
}

}  // namespace

Result<Digest> beacon_of(ChainView& chain, const ChainView::Epoch& epoch,
                         std::uint32_t delay_blocks) {
    if (epoch.drand) {
        if (!epoch.drand->randomness.is_zero()) return epoch.drand->randomness;
        return not_yet("the beacon of drand's round " + std::to_string(epoch.drand->round));
    }
    if (delay_blocks == 0)
        return fail(ErrorCode::kInvalidArgument,
                    "the coordinator does not say which block draws the sample: set "
                    "beacon_delay_blocks");
    const std::uint64_t block = epoch.block + delay_blocks;
    GYM_TRY(const auto beacon, chain.randomness(block));
    if (!beacon) return not_yet("block " + std::to_string(block) + ", which draws the sample,");
    return *beacon;
}

Result<EpochOnChain> check_on_chain(ChainView& chain, rpc::Coordinator& coordinator,
                                    const records::VerifyTask& task,
                                    std::uint32_t beacon_delay_blocks) {
    GYM_TRY(EpochOnChain epoch, epoch_of_round(chain, task.record, task.late));
    GYM_CHECK(check_beacon(chain, epoch, task.beacon, beacon_delay_blocks));
    GYM_TRY(const std::uint32_t rate_ppm, sampling_rate(task.record, task.unit));
    // Where norms are bounded, a train unit may be verified that no beacon drew: whoever verifies
    // the aggregate looks whether its norm called for that (audit_inclusion).
    const bool needs_draw = protocol::is_coordinators(task.unit.slot) || !task.delta_norm_factor;
    if (needs_draw && !protocol::is_sampled(epoch.beacon, protocol::unit_id(task.unit), rate_ppm))
        return fail(ErrorCode::kMismatch, "the beacon " + epoch.beacon.hex() + " does not draw " +
                                              protocol::name_unit(task.unit) + " at a rate of " +
                                              std::to_string(rate_ppm) + " ppm");
    if (task.commitment.commitment.kind == protocol::UnitKind::kTrain)
        GYM_CHECK(check_inclusion(coordinator, epoch, task));
    return epoch;
}

namespace {

/// Compares the draws of the round's units that are late, or of those that are not.
/// @param singles_out units that were not drawn may be verified all the same. @return how many of
/// them have commitments.
Result<std::size_t> audit_draws(rpc::Coordinator& coordinator, const protocol::RoundRecord& record,
                                bool late, bool singles_out, const Digest& beacon,
                                std::vector<std::string>& contradictions) {
    const std::size_t count = std::min(record.slots.size(), kAuditedUnitsMax);
    std::size_t committed = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const protocol::SlotAssignment& slot = record.slots[i];
        const protocol::UnitKey unit{record.job_id, record.round, slot.slot, 0};
        const Digest id = protocol::unit_id(unit);
        const auto view = coordinator.unit(id);
        if (!view.ok() && view.error().code == ErrorCode::kNotFound) continue;
        if (!view.ok()) return view.error();
        // A round whose record takes no late commitments has no late units, whatever is said.
        if ((record.accept_late && view->status.late) != late) continue;
        if (view->inclusion) ++committed;
        const bool draws = protocol::is_sampled(beacon, id, slot.sampling_rate_ppm);
        const auto drawn = was_drawn(view->status.state);
        if (!drawn || *drawn == draws || (*drawn && singles_out)) continue;
        contradictions.push_back(
            protocol::name_unit(unit) +
            (draws ? " is drawn by the beacon, and the coordinator passed over it"
                   : " is not drawn by the beacon, and the coordinator has it verified"));
    }
    return committed;
}

}  // namespace

Result<std::vector<std::string>> audit_sample(rpc::Coordinator& coordinator,
                                              const protocol::RoundRecord& record,
                                              const EpochOnChain& epoch, bool singles_out) {
    std::vector<std::string> contradictions;
    GYM_TRY(const std::size_t own,
            audit_draws(coordinator, record, false, singles_out, epoch.beacon, contradictions));
    if (own >= epoch.root.count) return contradictions;
    GYM_TRY(const auto before, record_before(coordinator, record));
    if (before && before->accept_late)
        GYM_CHECK(
            audit_draws(coordinator, *before, true, singles_out, epoch.beacon, contradictions));
    return contradictions;
}

namespace {

using Units = std::map<std::uint32_t, RoundCommitments::Unit>;

/// Whether one of the commitments to these units has this delta.
bool is_committed(const Units& units, const protocol::IncludedDelta& delta) {
    const auto unit = units.find(delta.slot);
    return unit != units.end() && unit->second.id == delta.unit && unit->second.commitment &&
           unit->second.commitment->commitment.delta_root == delta.delta_root;
}

/// The round whose accepted units an aggregate has to have: its own or, where rounds overlap, the
/// one before.
struct ExpectedRound {
    const protocol::RoundRecord& record;
    const RoundCommitments& commitments;
    const Digest& beacon;
};
ExpectedRound expected(const records::VerifyTask& aggregate, const AuditedRounds& rounds) {
    if (aggregate.overlap && aggregate.earlier)
        return {aggregate.earlier->record, rounds.earlier, rounds.earlier_beacon};
    return {*aggregate.round, rounds.own, aggregate.beacon};
}

bool is_drawn(const ExpectedRound& round, std::uint32_t slot, const Digest& unit) {
    const protocol::SlotAssignment* const terms = round.record.find_slot(slot);
    return terms != nullptr && protocol::is_sampled(round.beacon, unit, terms->sampling_rate_ppm);
}

/// Whether the aggregate had to have the unit's delta, or a reason in its norm: one that is
/// accepted and was not held, or that no beacon drew and that is verified nevertheless.
bool needs_reason(const records::VerifyTask& aggregate, const ExpectedRound& round,
                  std::uint32_t slot, const RoundCommitments::Unit& unit) {
    if (!unit.commitment || !unit.reason.empty()) return false;
    const bool drawn = is_drawn(round, slot, unit.id);
    if (protocol::is_accepted(unit.state)) return !(aggregate.hold_drawn && drawn);
    return !drawn && was_drawn(unit.state).value_or(false);
}

/// The deltas that go in: withdrawn ones are audit_withdrawn()'s.
std::span<const protocol::IncludedDelta> added_of(const records::VerifyTask& aggregate) {
    const std::span all(aggregate.deltas);
    return all.first(all.size() - protocol::withdrawn_of(all));
}

bool is_included(const records::VerifyTask& aggregate, std::uint32_t slot) {
    return std::ranges::any_of(aggregate.deltas, [&](const protocol::IncludedDelta& delta) {
        return delta.slot == slot && delta.held == aggregate.overlap && !delta.is_withdrawn();
    });
}

/// Of a delta's unit.
std::uint32_t steps_of(const records::VerifyTask& aggregate, const protocol::IncludedDelta& delta) {
    const protocol::RoundRecord& record = delta.held ? aggregate.earlier->record : *aggregate.round;
    const protocol::SlotAssignment* const terms = record.find_slot(delta.slot);
    return terms != nullptr ? terms->steps : 1;
}

/// Deltas that may have been left out against the rule.
struct LeftOut {
    std::vector<protocol::DeltaCandidate> deltas;
    std::map<std::uint32_t, Error> unknown;  ///< by slot: why there is no norm
    std::set<std::uint32_t> singled_out;     ///< no beacon drew them, and they are being verified
};

Result<LeftOut> left_out(const records::VerifyTask& aggregate, const ExpectedRound& round,
                         const DeltaNorm& norm_of) {
    LeftOut out;
    Status unanswered;
    for (const auto& [slot, unit] : round.commitments.units) {
        if (is_included(aggregate, slot) || !needs_reason(aggregate, round, slot, unit)) continue;
        const Digest& root = unit.commitment->commitment.delta_root;
        const protocol::IncludedDelta delta{slot, unit.id, root, aggregate.overlap};
        const auto norm = norm_of(delta);
        if (!norm.ok() && node::is_transient(norm.error().code)) unanswered = norm.error();
        // The coordinator that accepted it must still have it: a unit whose delta is lost is void.
        if (!norm.ok()) out.unknown.emplace(slot, norm.error());
        const bool accepted = protocol::is_accepted(unit.state);
        if (!accepted) out.singled_out.insert(slot);
        out.deltas.push_back({slot, unit.id, root, accepted ? unit.state : UnitState::kUnsampled,
                              norm.ok() ? *norm : 0, false, steps_of(aggregate, delta)});
    }
    GYM_CHECK(unanswered);
    return out;
}

using UnitName = std::function<std::string(std::uint32_t slot, bool held)>;

/// The bound for each step that the timely deltas of the aggregate give, where the job has one.
/// Deltas of the aggregate above it are contradictions.
Result<std::optional<double>> bound_of_included(const records::VerifyTask& aggregate,
                                                const DeltaNorm& norm_of, const UnitName& name,
                                                std::vector<std::string>& contradictions) {
    if (!aggregate.delta_norm_factor) return std::optional<double>();
    std::vector<double> norms, timely;
    for (const protocol::IncludedDelta& delta : added_of(aggregate)) {
        const auto norm = norm_of(delta);
        if (!norm.ok() && node::is_transient(norm.error().code)) return norm.error();
        // One that cannot be had or read ends the verification of the aggregate itself.
        norms.push_back(norm.ok() ? *norm / steps_of(aggregate, delta) : 0);
        if (norm.ok() && delta.held == aggregate.overlap) timely.push_back(norms.back());
    }
    protocol::InclusionPolicy policy;
    policy.delta_norm_factor = aggregate.delta_norm_factor;
    const auto bound = protocol::norm_bound(std::move(timely), policy);
    for (std::size_t i = 0; bound && i < norms.size(); ++i) {
        const protocol::IncludedDelta& delta = aggregate.deltas[i];
        if (norms[i] > *bound)
            contradictions.push_back("the aggregate has delta " + delta.delta_root.hex() + " of " +
                                     name(delta.slot, delta.held) +
                                     ", whose norm is far above the median of the round's");
    }
    return bound;
}

}  // namespace

Result<std::vector<std::string>> audit_inclusion(const records::VerifyTask& aggregate,
                                                 const AuditedRounds& rounds,
                                                 const DeltaNorm& norm_of) {
    const UnitName name = [&](std::uint32_t slot, bool held) {
        return protocol::name_unit(
            {aggregate.unit.job_id, aggregate.unit.round - (held ? 1 : 0), slot, 0});
    };
    std::vector<std::string> contradictions;
    for (const protocol::IncludedDelta& delta : added_of(aggregate))
        if (!is_committed(delta.held ? rounds.earlier.units : rounds.own.units, delta) &&
            !(delta.held && is_committed(rounds.own.late, delta)))
            contradictions.push_back("the aggregate has delta " + delta.delta_root.hex() + " of " +
                                     name(delta.slot, delta.held) +
                                     ", which no commitment under the epoch's root has");
    for (const protocol::IncludedDelta& delta : added_of(aggregate))
        if (aggregate.overlap && !delta.held)
            contradictions.push_back("the aggregate has the delta of " + name(delta.slot, false) +
                                     ", and its job's rounds overlap: it is the next one's");
    GYM_TRY(LeftOut missing, left_out(aggregate, expected(aggregate, rounds), norm_of));
    GYM_TRY(const std::optional<double> bound,
            bound_of_included(aggregate, norm_of, name, contradictions));
    std::erase_if(missing.deltas, [&](const protocol::DeltaCandidate& delta) {
        return bound && protocol::norm_per_step(delta) > *bound;
    });
    const auto rule = protocol::include_deltas(missing.deltas, {aggregate.delta_norm_max});
    for (const protocol::IncludedDelta& delta : rule.included) {
        const auto unknown = missing.unknown.find(delta.slot);
        contradictions.push_back(
            name(delta.slot, aggregate.overlap) +
            (missing.singled_out.contains(delta.slot) ? " is verified although no beacon drew it"
                                                      : " is accepted") +
            ", and the aggregate is without its delta " + delta.delta_root.hex() +
            (unknown == missing.unknown.end()
                 ? " for no reason"
                 : ", which cannot be had: " + unknown->second.message));
    }
    return contradictions;
}

}  // namespace gym::verifier
