#include "drivers/round.hpp"

#include "drivers/aggregation.hpp"
#include "drivers/draws.hpp"
#include "gym/commit/merkle.hpp"

namespace gym::coordinator {
namespace {

using protocol::UnitState;
using registry::RoundState;

EpochPost epoch_post(const registry::Round& round) {
    return {round.epoch, round.job_id, round.round, *round.commitments_root,
            *round.commitment_count};
}

Result<std::vector<registry::Unit>> train_units(db::Transaction& tx, const registry::Round& round,
                                                std::vector<UnitState> states = {}) {
    registry::UnitFilter filter;
    filter.job_id = round.job_id;
    filter.round = round.round;
    filter.kind = protocol::UnitKind::kTrain;
    filter.states = std::move(states);
    filter.limit = registry::kUnitsListMax;
    return registry::list_units(tx, filter);
}

/// Assigns every slot of the record and starts the clock of its units.
Status open_units(db::Transaction& tx, const registry::Job& job, const registry::Round& round,
                  UnixMs now_ms) {
    GYM_CHECK(registry::lock_feed(tx));
    GYM_CHECK(registry::open_round(tx, job.id, round.round, now_ms + job.terms.lifecycle.unit_ms,
                                   now_ms));
    for (const protocol::SlotAssignment& slot : round.record.slots) {
        GYM_TRY(const registry::Node worker, registry::get_node(tx, slot.worker));
        registry::NewUnit unit;
        unit.key = {job.id, round.round, slot.slot, 0};
        unit.worker = slot.worker;
        unit.owner = worker.owner;
        unit.sampling_rate_ppm = slot.sampling_rate_ppm;
        GYM_CHECK(registry::assign_unit(tx, unit, job.terms.lifecycle, now_ms));
    }
    return {};
}

Status step_recorded(const Context& context, const registry::Job& job, const registry::Round& round,
                     TickSummary& summary) {
    GYM_TRY(const bool posted,
            context.deps.chain.round_posted(job.id, round.round, round.record_hash));
    if (!posted) return context.deps.chain.post_round(job.id, round.round, round.record_hash);
    GYM_CHECK(context.transact(
        [&](db::Transaction& tx) { return open_units(tx, job, round, context.now()); }));
    note(summary, name_round(round) + ": on chain, units assigned");
    return {};
}

/// Closes the round for commitments once no unit waits for one.
Status step_open(const Context& context, const registry::Job& job, const registry::Round& round,
                 TickSummary& summary) {
    GYM_TRY(const bool sealed, context.transact([&](db::Transaction& tx) -> Result<bool> {
        GYM_CHECK(registry::lock_feed(tx));
        GYM_TRY(const auto waiting, train_units(tx, round, {UnitState::kAssigned}));
        if (!waiting.empty()) return false;
        GYM_TRY(const auto committed, train_units(tx, round, {UnitState::kCommitted}));
        std::vector<Digest> ids;
        ids.reserve(committed.size());
        for (const registry::Unit& unit : committed)
            ids.push_back(unit.id);
        GYM_CHECK(registry::set_epoch(tx, round.epoch, ids));
        GYM_TRY(const auto leaves, registry::epoch_leaves(tx, round.epoch));
        std::vector<Digest> digests;
        digests.reserve(leaves.size());
        for (const registry::EpochLeaf& leaf : leaves)
            digests.push_back(leaf.leaf);
        GYM_CHECK(registry::seal_round(tx, job.id, round.round, commit::merkle_root(digests),
                                       static_cast<std::uint32_t>(digests.size()), context.now()));
        return true;
    }));
    if (sealed) note(summary, name_round(round) + ": sealed");
    return {};
}

Status step_sealed(const Context& context, const registry::Round& round, TickSummary& summary) {
    const EpochPost post = epoch_post(round);
    GYM_TRY(const auto block, context.deps.chain.epoch_block(post));
    if (!block) return context.deps.chain.post_epoch(post);
    const std::uint64_t beacon_block = *block + context.options.beacon_delay_blocks;
    GYM_CHECK(context.transact([&](db::Transaction& tx) {
        return registry::mark_posted(tx, round.job_id, round.round, *block, beacon_block);
    }));
    note(summary,
         name_round(round) + ": commitment root on chain in block " + std::to_string(*block));
    return {};
}

/// Draws the units that are verified.
Status step_posted(const Context& context, const registry::Job& job, registry::Round round,
                   TickSummary& summary) {
    GYM_TRY(const auto beacon, context.deps.chain.randomness(*round.beacon_block));
    if (!beacon) return {};
    round.beacon = beacon;
    GYM_TRY(const std::size_t sampled,
            context.transact([&](db::Transaction& tx) -> Result<std::size_t> {
                GYM_CHECK(registry::lock_feed(tx));
                GYM_CHECK(registry::set_beacon(tx, round.job_id, round.round, *beacon));
                GYM_TRY(const auto units, train_units(tx, round, {UnitState::kCommitted}));
                std::size_t count = 0;
                for (const registry::Unit& unit : units) {
                    const bool drawn =
                        protocol::is_sampled(*beacon, unit.id, unit.sampling_rate_ppm);
                    GYM_CHECK(registry::advance(tx, unit.id, protocol::event::Drawn{drawn},
                                                job.terms.lifecycle, context.now()));
                    count += drawn ? 1 : 0;
                }
                GYM_CHECK(assign_verifiers(context, tx, round, context.now()));
                return count;
            }));
    note(summary, name_round(round) + ": beacon drew " + std::to_string(sampled) + " units");
    return {};
}

Status step_verifying(const Context& context, const registry::Job& job,
                      const registry::Round& round, TickSummary& summary) {
    GYM_TRY(const bool decided, context.transact([&](db::Transaction& tx) -> Result<bool> {
        GYM_TRY(const auto undecided, train_units(tx, round,
                                                  {UnitState::kCommitted, UnitState::kSampled,
                                                   UnitState::kReported, UnitState::kRevealed}));
        return undecided.empty();
    }));
    if (decided) return aggregate_round(context, job, round, summary);
    return {};
}

Status step_aggregated(const Context& context, const registry::Round& round, TickSummary& summary) {
    registry::UnitFilter open;
    open.job_id = round.job_id;
    open.round = round.round;
    open.limit = registry::kUnitsListMax;
    GYM_TRY(const bool closed, context.transact([&](db::Transaction& tx) -> Result<bool> {
        GYM_TRY(const auto units, registry::list_units(tx, open));
        for (const registry::Unit& unit : units)
            if (!unit.ended_at_ms) return false;
        GYM_CHECK(registry::close_round(tx, round.job_id, round.round, context.now()));
        return true;
    }));
    if (closed) note(summary, name_round(round) + ": closed");
    return {};
}

Status step_once(const Context& context, const registry::Job& job, const registry::Round& round,
                 TickSummary& summary) {
    switch (round.state) {
        case RoundState::kRecorded:
            return step_recorded(context, job, round, summary);
        case RoundState::kOpen:
            return step_open(context, job, round, summary);
        case RoundState::kSealed:
            return step_sealed(context, round, summary);
        case RoundState::kPosted:
            return step_posted(context, job, round, summary);
        case RoundState::kVerifying:
            return step_verifying(context, job, round, summary);
        case RoundState::kAggregated:
            return step_aggregated(context, round, summary);
        case RoundState::kClosed:
            return {};
    }
    return {};
}

}  // namespace

Status step_round(const Context& context, const registry::Job& job, registry::Round round,
                  TickSummary& summary) {
    // A round has seven states: more steps than that mean that nothing moves any more.
    for (int steps = 0; steps < 8; ++steps) {
        const RoundState before = round.state;
        GYM_CHECK(step_once(context, job, round, summary));
        GYM_TRY(round, context.transact([&](db::Transaction& tx) {
            return registry::get_round(tx, job.id, round.round);
        }));
        if (round.state == before) break;
    }
    if (round.state == RoundState::kVerifying || round.state == RoundState::kAggregated)
        return context.transact([&](db::Transaction& tx) {
            return assign_verifiers(context, tx, round, context.now());
        });
    return {};
}

}  // namespace gym::coordinator
