#include "drivers/own_units.hpp"

#include "drivers/draws.hpp"

namespace gym::coordinator {

protocol::SignedCommitment sign_own_unit(const Context& context, const registry::Round& round,
                                         protocol::UnitKind kind, const protocol::UnitRoots& roots,
                                         const OwnCounts& counts) {
    const bool aggregate = kind == protocol::UnitKind::kAggregate;
    protocol::UnitCommitment commitment;
    commitment.kind = kind;
    commitment.round_record = round.record_hash;
    commitment.slot = aggregate ? protocol::kAggregateSlot : protocol::kEvaluateSlot;
    commitment.records_root = roots.records;
    commitment.final_state_root = roots.final_state;
    commitment.delta_root = roots.delta;
    commitment.steps = counts.steps;
    commitment.tokens = counts.tokens;
    commitment.flops = counts.flops;
    return protocol::sign(context.options.domain, commitment, context.deps.key);
}

Status add_own_unit(const Context& context, db::Transaction& tx, const registry::Job& job,
                    const registry::Round& round, const protocol::SignedCommitment& commitment,
                    ByteView records, UnixMs now_ms) {
    const Address& self = context.deps.key.address();
    registry::NewUnit unit;
    unit.key = {round.job_id, round.round, commitment.commitment.slot, 0};
    unit.kind = commitment.commitment.kind;
    unit.worker = self;
    unit.owner = self;
    unit.sampling_rate_ppm = job.terms.sampling.aggregate_ppm;
    const Digest id = protocol::unit_id(unit.key);
    const protocol::LifecycleParams& params = job.terms.lifecycle;
    GYM_CHECK(registry::assign_unit(tx, unit, params, now_ms));
    GYM_CHECK(registry::store_commitment(tx, id, commitment, records, now_ms));
    GYM_CHECK(registry::advance(tx, id, protocol::event::Committed{}, params, now_ms));
    if (!round.beacon) return {};  // it draws the unit when it is there, as those of workers
    const bool drawn = protocol::is_sampled(*round.beacon, id, unit.sampling_rate_ppm);
    GYM_CHECK(registry::advance(tx, id, protocol::event::Drawn{drawn}, params, now_ms));
    return assign_verifiers(context, tx, round, now_ms);
}

}  // namespace gym::coordinator
