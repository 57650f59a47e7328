#include "drivers/round.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "drivers/aggregation.hpp"
#include "drivers/chain_posts.hpp"
#include "drivers/claims.hpp"
#include "drivers/draws.hpp"
#include "drivers/quorum.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/coordinator/decisions.hpp"
#include "gym/registry/chain_commitments.hpp"
#include "gym/registry/prefixes.hpp"

namespace gym::coordinator {
namespace {

using protocol::UnitState;
using registry::RoundState;

EpochPost epoch_post(const registry::Round& round) {
    return {round.epoch, round.job_id, round.round, *round.commitments_root,
            *round.commitment_count};
}

/// Units of the round's epoch: its own, in the order of their slots, but for those that are late,
/// and behind them the late ones of the round before.
Result<std::vector<registry::Unit>> train_units(db::Transaction& tx, const registry::Round& round,
                                                std::vector<UnitState> states = {}) {
    registry::UnitFilter filter;
    filter.job_id = round.job_id;
    filter.epoch_round = round.round;
    filter.kind = protocol::UnitKind::kTrain;
    filter.states = std::move(states);
    filter.limit = registry::kUnitsListMax;
    return registry::list_units(tx, filter);
}

/// Where rounds overlap, no deltas are there for the aggregate that the record of round 1 names.
Status pass_base(db::Transaction& tx, const registry::Round& round, UnixMs now_ms) {
    registry::AggregateOutcome outcome;
    outcome.next_base = round.base;
    outcome.next_momentum = round.momentum;
    return registry::set_next_base(tx, round.job_id, round.round, outcome, now_ms);
}

/// Assigns every slot of the record and starts the clock of its units.
Status open_units(db::Transaction& tx, const registry::Job& job, const registry::Round& round,
                  UnixMs now_ms) {
    GYM_CHECK(registry::lock_feed(tx));
    protocol::LifecycleParams params = job.terms.lifecycle;
    params.unit_ms = unit_ms_of(job.terms, round.round);
    GYM_CHECK(registry::open_round(tx, job.id, round.round, now_ms + params.unit_ms, now_ms));
    if (job.terms.elastic.overlap != 0 && round.round == 1) GYM_CHECK(pass_base(tx, round, now_ms));
    std::vector<Address> workers;
    workers.reserve(round.record.slots.size());
    for (const protocol::SlotAssignment& slot : round.record.slots)
        workers.push_back(slot.worker);
    GYM_TRY(const auto owners, registry::owners_of(tx, workers));
    std::vector<registry::NewUnit> units;
    units.reserve(workers.size());
    for (const protocol::SlotAssignment& slot : round.record.slots) {
        registry::NewUnit& unit = units.emplace_back();
        unit.key = {job.id, round.round, slot.slot, 0};
        unit.worker = slot.worker;
        unit.owner = owners.at(slot.worker);
        unit.sampling_rate_ppm = slot.sampling_rate_ppm;
    }
    return registry::assign_units(tx, units, params, now_ms);
}

Status assign_units(const Context& context, const registry::Job& job, const registry::Round& round,
                    TickSummary& summary) {
    GYM_CHECK(context.transact(
        [&](db::Transaction& tx) { return open_units(tx, job, round, context.now()); }));
    note(summary, name_round(round) + ": on chain, units assigned");
    return {};
}

/// Late units of the round before without a commitment: there will be no epoch for one.
Status expire_late(db::Transaction& tx, const registry::Job& job, const registry::Round& round,
                   UnixMs now_ms) {
    GYM_TRY(const auto assigned, train_units(tx, round, {UnitState::kAssigned}));
    std::vector<registry::UnitStep> steps;
    for (const registry::Unit& unit : assigned)
        if (unit.status.late) steps.push_back({unit.id, protocol::event::Overtaken{}});
    if (steps.empty()) return {};
    GYM_CHECK(registry::advance_all(tx, steps, job.terms.lifecycle, now_ms));
    return {};
}

/// Whether the round before took late commitments.
Result<bool> took_late_before(db::Transaction& tx, const registry::Round& round) {
    if (round.round == 1) return false;
    GYM_TRY(const registry::Round before, registry::get_round(tx, round.job_id, round.round - 1));
    return before.record.accept_late;
}

/// Closes the round for commitments: those that are there become the leaves of its epoch, and
/// behind them those that were published to units that had ended.
Status seal(const Context& context, const registry::Job& job, const registry::Round& round,
            TickSummary& summary) {
    const Status sealed = context.transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_CHECK(expire_late(tx, job, round, context.now()));
        GYM_TRY(const auto committed, train_units(tx, round, {UnitState::kCommitted}));
        std::vector<Digest> ids;
        ids.reserve(committed.size());
        for (const registry::Unit& unit : committed)
            ids.push_back(unit.id);
        GYM_CHECK(registry::set_epoch(tx, round.epoch, ids));
        GYM_TRY(const bool late_before, took_late_before(tx, round));
        GYM_TRY(const auto published, registry::chain_commitments_without_epoch(
                                          tx, round.job_id, round.round, late_before));
        GYM_CHECK(registry::set_chain_epoch(tx, round.epoch, static_cast<std::uint32_t>(ids.size()),
                                            published));
        GYM_TRY(const auto leaves, registry::epoch_leaves(tx, round.epoch));
        std::vector<Digest> digests;
        digests.reserve(leaves.size());
        for (const registry::EpochLeaf& leaf : leaves)
            digests.push_back(leaf.leaf);
        return registry::seal_round(tx, round.job_id, round.round, commit::merkle_root(digests),
                                    static_cast<std::uint32_t>(digests.size()), context.now());
    });
    GYM_CHECK(sealed);
    note(summary, name_round(round) + ": sealed");
    return {};
}

/// Fixes which randomness draws the units of the epoch, whose root is in `block`.
Status set_beacon_block(const Context& context, const registry::Round& round, std::uint64_t block,
                        TickSummary& summary) {
    registry::DrawnBy by;
    GYM_TRY(by.drand_round, context.deps.chain.drand_round(epoch_post(round)));
    if (!by.drand_round) by.block = block + context.options.beacon_delay_blocks;
    GYM_CHECK(context.transact([&](db::Transaction& tx) {
        return registry::mark_posted(tx, round.job_id, round.round, block, by);
    }));
    note(summary,
         name_round(round) + ": commitment root on chain in block " + std::to_string(block));
    return {};
}

/// The aggregate that the round's record names, if it was made before the round's beacon: where
/// rounds overlap.
Result<std::optional<registry::Unit>> waiting_aggregate(db::Transaction& tx,
                                                        const registry::Job& job,
                                                        const registry::Round& round) {
    if (job.terms.elastic.overlap == 0) return std::optional<registry::Unit>();
    GYM_TRY(auto unit, registry::find_unit(tx, protocol::unit_id(aggregate_key(round))));
    if (unit && unit->status.state != UnitState::kCommitted) unit.reset();
    return unit;
}

/// Draws the units that are verified.
Status draw_sample(const Context& context, const registry::Job& job, registry::Round round,
                   const Digest& beacon, TickSummary& summary) {
    round.beacon = beacon;
    GYM_TRY(const std::size_t sampled,
            context.transact([&](db::Transaction& tx) -> Result<std::size_t> {
                GYM_CHECK(registry::lock_feed(tx));
                GYM_CHECK(registry::set_beacon(tx, round.job_id, round.round, beacon));
                GYM_TRY(const auto units, train_units(tx, round, {UnitState::kCommitted}));
                std::size_t count = 0;
                std::vector<registry::UnitStep> steps;
                steps.reserve(units.size());
                for (const registry::Unit& unit : units) {
                    const bool drawn =
                        protocol::is_sampled(beacon, unit.id, unit.sampling_rate_ppm);
                    steps.push_back({unit.id, protocol::event::Drawn{drawn}});
                    count += drawn ? 1 : 0;
                }
                GYM_TRY(const auto aggregate, waiting_aggregate(tx, job, round));
                if (aggregate) {
                    const bool drawn =
                        protocol::is_sampled(beacon, aggregate->id, aggregate->sampling_rate_ppm);
                    steps.push_back({aggregate->id, protocol::event::Drawn{drawn}});
                }
                GYM_CHECK(registry::advance_all(tx, steps, job.terms.lifecycle, context.now()));
                GYM_CHECK(assign_verifiers(context, tx, round, context.now()));
                return count;
            }));
    note(summary, name_round(round) + ": beacon drew " + std::to_string(sampled) + " units");
    return {};
}

Status close(const Context& context, const registry::Round& round, TickSummary& summary) {
    GYM_CHECK(context.transact([&](db::Transaction& tx) {
        return registry::close_round(tx, round.job_id, round.round, context.now());
    }));
    note(summary, name_round(round) + ": closed");
    return {};
}

/// Facts about a round now, and the inputs of its next step.
struct Observed {
    RoundFacts facts;
    std::optional<std::uint64_t> epoch_block;
    std::optional<Digest> beacon;
};

/// Whether units keep the round in its state. It is open for its own that are not late, verifies
/// those of its epoch, and ends with all of its own and their prefixes.
Result<bool> is_held(db::Transaction& tx, const registry::Round& round) {
    registry::UnitFilter holding;
    holding.job_id = round.job_id;
    holding.states = states_that_hold(round.state);
    holding.limit = 1;
    if (holding.states.empty()) return false;
    if (round.state != RoundState::kAggregated) holding.kind = protocol::UnitKind::kTrain;
    if (round.state == RoundState::kOpen) holding.late = false;
    (round.state == RoundState::kVerifying ? holding.epoch_round : holding.round) = round.round;
    GYM_TRY(const auto units, registry::list_units(tx, holding));
    if (!units.empty() || round.state != RoundState::kAggregated) return !units.empty();
    return registry::has_due_prefix(tx, round.job_id, round.round);
}

/// Asks only what matters in the round's state. Whether units hold the round is as good as asked
/// under a lock: none of them ever returns to a state that holds it.
Result<Observed> observe(const Context& context, const registry::Job& job,
                         const registry::Round& round, TickSummary& summary) {
    ChainPort& chain = context.deps.chain;
    Observed out;
    out.facts.state = round.state;
    if (round.state == RoundState::kRecorded) {
        GYM_TRY(out.facts.record_on_chain,
                chain.round_posted(round.job_id, round.round, round.record_hash));
    } else if (round.state == RoundState::kSealed) {
        GYM_TRY(out.epoch_block, chain.epoch_block(epoch_post(round)));
        out.facts.epoch_on_chain = out.epoch_block.has_value();
    } else if (round.state == RoundState::kPosted) {
        GYM_TRY(out.beacon, round.drand_round ? chain.drand_randomness(*round.drand_round)
                                              : chain.randomness(*round.beacon_block));
        out.facts.beacon_known = out.beacon.has_value();
    }
    GYM_TRY(out.facts.held,
            context.transact([&](db::Transaction& tx) { return is_held(tx, round); }));
    if (round.state == RoundState::kAggregated) {
        GYM_TRY(const bool posted, tend_aggregate(context, job, round, summary));
        if (!posted || !round.validation_loss) out.facts.held = true;
    }
    // The epoch begins the window in which the aggregate that the record names can be challenged.
    if (round.state == RoundState::kOpen && job.terms.elastic.overlap != 0 && !round.next_base)
        out.facts.held = true;
    if (round.state == RoundState::kOpen && !context.log_read->load()) out.facts.held = true;
    if (out.facts.held && round.state == RoundState::kVerifying && job.terms.elastic.hold_drawn) {
        GYM_TRY(const auto all,
                context.transact([&](db::Transaction& tx) { return timely_units(tx, round); }));
        out.facts.held = !may_hold(job.terms, round.record, all);
    }
    return out;
}

Status step_once(const Context& context, const registry::Job& job, const registry::Round& round,
                 TickSummary& summary) {
    if (round.state == RoundState::kOpen) GYM_CHECK(hurry(context, job, round, summary));
    GYM_TRY(const Observed now, observe(context, job, round, summary));
    ChainPort& chain = context.deps.chain;
    switch (next_step(now.facts)) {
        case RoundStep::kWait:
            return {};
        case RoundStep::kPostRecord: {
            GYM_TRY(const RoundPost post, round_post(context, round));
            return chain.post_round(post);
        }
        case RoundStep::kAssignUnits:
            return assign_units(context, job, round, summary);
        case RoundStep::kSeal:
            return seal(context, job, round, summary);
        case RoundStep::kPostEpoch:
            return chain.post_epoch(epoch_post(round));
        case RoundStep::kSetBeaconBlock:
            return set_beacon_block(context, round, *now.epoch_block, summary);
        case RoundStep::kDrawSample:
            return draw_sample(context, job, round, *now.beacon, summary);
        case RoundStep::kAggregate:
            return aggregate_round(context, job, round, summary);
        case RoundStep::kClose:
            return close(context, round, summary);
    }
    return {};
}

}  // namespace

Status step_round(const Context& context, const registry::Job& job, registry::Round round,
                  TickSummary& summary) {
    // A round has seven states: more steps than that mean that it is stuck.
    for (int steps = 0; steps < 8; ++steps) {
        const RoundState before = round.state;
        GYM_CHECK(step_once(context, job, round, summary));
        GYM_TRY(round, context.transact([&](db::Transaction& tx) {
            return registry::get_round(tx, job.id, round.round);
        }));
        if (round.state == before) break;
    }
    if (round.state == RoundState::kVerifying || round.state == RoundState::kAggregated)
        return tend_draws(context, job, round);
    return {};
}

}  // namespace gym::coordinator
