#include "calls/next_tasks.hpp"

#include <map>

#include "drivers/membership.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/prefixes.hpp"

namespace gym::coordinator {
namespace {

using records::NodeRole;
using FoundTask = std::optional<records::Task>;

Result<records::Task> train_task(const Context& context, db::Transaction& tx,
                                 const registry::Unit& unit) {
    GYM_TRY(const auto inputs, context.facts->round_inputs(tx, unit.key.job_id, unit.key.round));
    records::TrainTask task{unit.key, inputs->units.of(unit.key.slot), inputs->train,
                            unit.status.deadline_ms};
    task.overlap = inputs->overlap;
    if (inputs->late_ms != 0)
        task.late_until_ms = unit.status.deadline_ms + (unit.status.late ? 0 : inputs->late_ms);
    return records::Task(std::move(task));
}

/// What an aggregate's task has beside a train unit's.
Status add_aggregate(const Context& context, db::Transaction& tx, const registry::Unit& unit,
                     const RoundInputs& inputs, records::VerifyTask& task) {
    task.round = inputs.record;
    GYM_TRY(const registry::Job job, registry::get_job(tx, unit.key.job_id));
    task.delta_norm_max = job.terms.delta_norm_max;
    task.hold_drawn = job.terms.elastic.hold_drawn;
    task.overlap = job.terms.elastic.overlap != 0;
    GYM_TRY(task.deltas, registry::included_deltas(tx, unit.key.job_id, unit.key.round));
    if (protocol::held_of(task.deltas) == 0) return {};
    GYM_TRY(const auto before,
            context.facts->round_inputs(tx, unit.key.job_id, unit.key.round - 1));
    task.earlier = {before->record, before->train};
    return {};
}

/// What an evaluation's task has: the state that the round ended in, and the aggregate that made
/// it. A round without deltas has none: it ended in the state that it began from.
Status add_evaluated(db::Transaction& tx, const registry::Unit& unit, records::VerifyTask& task) {
    GYM_TRY(const registry::Round round, registry::get_round(tx, unit.key.job_id, unit.key.round));
    const Digest aggregate = protocol::unit_id(
        {unit.key.job_id, unit.key.round, protocol::kAggregateSlot, unit.key.attempt});
    GYM_TRY(const auto made, registry::find_commitment(tx, aggregate));
    if (!round.next_base) return fail(ErrorCode::kInternal, "an evaluated round has not ended");
    task.inputs.base_state_blob = round.next_base->blob;
    task.inputs.base_steps.clear();
    task.inputs.momentum_blob.reset();
    if (made) task.aggregate = made->commitment;
    return {};
}

Result<records::Task> verify_task(const Context& context, db::Transaction& tx,
                                  const registry::Unit& unit) {
    GYM_TRY(const auto inputs, context.facts->round_inputs(tx, unit.key.job_id, unit.key.round));
    GYM_TRY(const registry::Round round,
            registry::get_round(tx, unit.key.job_id, unit.epoch_round()));
    GYM_TRY(const auto stored, registry::find_commitment(tx, unit.id));
    if (!stored) return fail(ErrorCode::kInternal, "a drawn unit has no commitment");
    records::VerifyTask task;
    task.unit = unit.key;
    task.record = inputs->units.of(unit.key.slot);
    task.inputs = inputs->train;
    if (!inputs->momentum_blob.is_zero()) task.inputs.momentum_blob = inputs->momentum_blob;
    task.commitment = stored->commitment;
    task.committer = unit.worker;
    task.draw = unit.status.draws - 1;
    task.beacon = *round.beacon;
    task.report_committed = unit.status.state == protocol::UnitState::kReported;
    task.deadline_ms = unit.status.deadline_ms;
    task.late = unit.status.late;
    task.delta_norm_factor = inputs->delta_norm_factor;
    if (unit.kind == protocol::UnitKind::kAggregate)
        GYM_CHECK(add_aggregate(context, tx, unit, *inputs, task));
    if (unit.kind == protocol::UnitKind::kEvaluate) GYM_CHECK(add_evaluated(tx, unit, task));
    return records::Task(std::move(task));
}

Result<records::Task> prefix_task(const Context& context, db::Transaction& tx,
                                  const registry::DuePrefix& due) {
    const protocol::UnitKey& unit = due.unit.key;
    GYM_TRY(const auto inputs, context.facts->round_inputs(tx, unit.job_id, unit.round));
    return records::Task(records::PrefixTask{unit, inputs->units.of(unit.slot), inputs->train,
                                             due.prefix.steps, due.prefix.draws - 1,
                                             due.prefix.deadline_ms});
}

using Standings = std::map<Address, registry::Standing>;
using Tasks = std::vector<Result<FoundTask>>;

/// Nodes of a role in good standing.
std::vector<Address> in_role(const Standings& standings, NodeRole role) {
    std::vector<Address> out;
    for (const auto& [node, standing] : standings)
        if (standing.role == role && !standing.excluded_because) out.push_back(node);
    return out;
}

/// Work of the nodes that ask. A verifier gets units first: a round waits for them.
struct FoundWork {
    std::map<Address, registry::Unit> units;
    std::map<Address, registry::DuePrefix> prefixes;
};

Result<FoundTask> task_of(const Context& context, db::Transaction& tx, const Address& node,
                          const Standings& standings, const FoundWork& found) {
    const auto standing = standings.find(node);
    if (standing == standings.end())
        return fail(ErrorCode::kNotFound, "node " + node.hex() + " is not registered");
    if (standing->second.excluded_because)
        return excluded(node, *standing->second.excluded_because);
    const auto unit = found.units.find(node);
    if (unit == found.units.end()) {
        const auto prefix = found.prefixes.find(node);
        if (prefix == found.prefixes.end()) return FoundTask();
        GYM_TRY(auto task, prefix_task(context, tx, prefix->second));
        return FoundTask(std::move(task));
    }
    if (standing->second.role == NodeRole::kVerifier) {
        GYM_TRY(auto task, verify_task(context, tx, unit->second));
        return FoundTask(std::move(task));
    }
    GYM_TRY(auto task, train_task(context, tx, unit->second));
    return FoundTask(std::move(task));
}

Result<Tasks> read_tasks(const Context& context, db::Transaction& tx,
                         std::span<const Address> nodes, std::span<const Digest> computed) {
    const UnixMs now_ms = context.now();
    GYM_TRY(const Standings standings, registry::standings_of(tx, nodes));
    FoundWork found;
    if (const auto workers = in_role(standings, NodeRole::kWorker); !workers.empty()) {
        GYM_TRY(found.units, registry::next_train_units(tx, workers, now_ms, computed));
    }
    if (const auto verifiers = in_role(standings, NodeRole::kVerifier); !verifiers.empty()) {
        GYM_TRY(auto drawn, registry::next_drawn_units(tx, verifiers, now_ms));
        found.units.merge(drawn);
        GYM_TRY(found.prefixes, registry::next_prefixes(tx, verifiers, now_ms));
    }
    Tasks out;
    out.reserve(nodes.size());
    for (const Address& node : nodes)
        out.push_back(task_of(context, tx, node, standings, found));
    return out;
}

}  // namespace

Tasks next_tasks(const Context& context, std::span<const Address> nodes,
                 std::span<const Digest> computed) {
    auto read = context.deps.database.transact(
        [&](db::Transaction& tx) { return read_tasks(context, tx, nodes, computed); },
        {.read_only = true});
    if (read.ok()) return std::move(*read);
    return Tasks(nodes.size(), Result<FoundTask>(read.error()));
}

Result<FoundTask> next_task(const Context& context, const Address& node, NodeRole role) {
    GYM_CHECK(context.transact([&](db::Transaction& tx) { return require_node(tx, node, role); }));
    return std::move(next_tasks(context, {&node, 1}).front());
}

}  // namespace gym::coordinator
