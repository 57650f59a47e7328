#include "virtual_node.hpp"

#include <algorithm>
#include <cmath>

#include "must.hpp"
#include "virtual_compute.hpp"

namespace gym::sim {
namespace {

using protocol::UnitKind;
using testing::FakeCompute;
using testing::must;

std::int64_t whole_ms(double ms) {
    return std::max<std::int64_t>(std::llround(ms), 0);
}

/// Of a verifier's machine for an outer step.
constexpr unsigned kVerifierThreads = 16;

}  // namespace

void VirtualNode::join() {
    registry::NewNode profile;
    profile.address = profile.owner = address();
    profile.profile.role = machine_.role;
    profile.profile.flops_per_second = static_cast<std::uint64_t>(
        machine_.steps_per_second * static_cast<double>(around_.settings.flops_per_step()));
    must(around_.core.register_node(profile));
    joined_ms_ = around_.queue.now_ms();
    around_.changed();
}

void VirtualNode::leave(bool signs_off) {
    totals_ = totals();
    computing_since_ms_.reset();
    joined_ms_.reset();
    busy_ = false;
    computed_.clear();
    if (!signs_off) return;
    must(around_.core.leave(address()));
    around_.changed();
}

NodeTotals VirtualNode::totals() const {
    NodeTotals out = totals_;
    const auto now_ms = around_.queue.now_ms();
    if (joined_ms_) out.present_ms += static_cast<double>(now_ms - *joined_ms_);
    if (computing_since_ms_) out.computing_ms += static_cast<double>(now_ms - *computing_since_ms_);
    return out;
}

void VirtualNode::later(std::int64_t wait_ms, EventQueue::Action then) {
    around_.queue.after(wait_ms, [self = shared_from_this(), then = std::move(then)] {
        if (self->present()) then();
    });
}

void VirtualNode::ask() {
    later(round_trips(1) / 2, [this] {
        if (busy_) return;
        const Address self = address();
        const std::vector<Digest> done(computed_.begin(), computed_.end());
        const auto task = must(std::move(around_.core.next_tasks({&self, 1}, done).front()));
        if (task) give(*task);
    });
}

void VirtualNode::give(const records::Task& task) {
    busy_ = true;
    // The answer is half a way from here.
    later(round_trips(1) / 2, [this, task] {
        if (const auto* train = std::get_if<records::TrainTask>(&task)) return work(*train);
        verify(std::get<records::VerifyTask>(task));
    });
}

void VirtualNode::finish(bool taken) {
    busy_ = false;
    ++(taken ? totals_.done : totals_.late);
    around_.changed();
    ask();
}

std::uint64_t VirtualNode::base_bytes(const records::UnitInputs& inputs) const {
    if (bases_.contains(inputs.base_state_blob)) return 0;
    // The newest base state that it has, and the updates behind that.
    for (std::size_t back = 1; back <= inputs.base_steps.size(); ++back)
        if (bases_.contains(inputs.base_steps[inputs.base_steps.size() - back].base_blob))
            return back * around_.settings.bytes(around_.settings.codec.update);
    return around_.settings.bytes(around_.settings.codec.base);
}

std::int64_t VirtualNode::fetch(const records::UnitInputs& inputs, std::uint64_t more_bytes) {
    std::uint64_t bytes = base_bytes(inputs) + more_bytes;
    if (bases_.empty()) bytes += around_.settings.dataset_bytes;
    bases_.insert(inputs.base_state_blob);
    totals_.received_bytes += bytes;
    const double ms = SharedLine::millis(bytes, machine_.down_mbps);
    totals_.transfer_ms += ms;
    // The list of the pieces, then these.
    return round_trips(2) + whole_ms(ms);
}

void VirtualNode::compute(double seconds, EventQueue::Action then) {
    computing_since_ms_ = around_.queue.now_ms();
    later(whole_ms(seconds * 1e3), [this, then = std::move(then)] {
        totals_.computing_ms += static_cast<double>(around_.queue.now_ms() - *computing_since_ms_);
        computing_since_ms_.reset();
        then();
    });
}

// Workers.

void VirtualNode::work(const records::TrainTask& task) {
    // One question to the chain: the record is there, or the coordinator had not assigned the unit.
    const std::int64_t wait_ms = round_trips(1) + fetch(task.inputs, 0);
    const double seconds = task.record.assignment.value().steps / machine_.steps_per_second;
    later(wait_ms, [this, task, seconds] {
        compute(seconds, [this, task] {
            upload(task);
            if (around_.settings.elasticity().overlap == 0) return;
            computed_.insert(task.unit_id());
            busy_ = false;
            ask();
        });
    });
}

void VirtualNode::upload(const records::TrainTask& task) {
    const Settings& settings = around_.settings;
    const std::uint64_t bytes = settings.bytes(settings.codec.delta);
    const UnixMs now_ms = around_.queue.now_ms();
    const std::uint32_t sends = std::max(settings.mirror_copies, 1U);
    double ms = SharedLine::millis(bytes * sends, machine_.up_mbps);
    if (settings.mirror_copies == 0)
        ms = static_cast<double>(around_.operator_line.pass(now_ms, bytes, machine_.up_mbps) -
                                 now_ms);
    totals_.sent_bytes += bytes * sends;
    totals_.transfer_ms += ms;
    // The permission, the end of each copy, the name of its place, then the commitment on its way.
    const int calls = 1 + static_cast<int>(sends) + (settings.mirror_copies == 0 ? 0 : 1);
    later(whole_ms(ms) + round_trips(calls) + round_trips(1) / 2, [this, task] { commit(task); });
}

void VirtualNode::commit(const records::TrainTask& task) {
    const protocol::UnitRecord& record = task.record;
    const FakeCompute::Trained trained = FakeCompute::train(record);
    protocol::UnitCommitment commitment;
    commitment.round_record = protocol::hash(record);
    commitment.slot = task.unit.slot;
    commitment.records_root = must(around_.compute.records_root(trained.records));
    commitment.final_state_root = trained.final_state;
    commitment.delta_root = must(around_.blobs.put(trained.delta));
    commitment.steps = record.assignment.value().steps;
    commitment.tokens = record.tokens_per_step * commitment.steps;
    commitment.flops = record.flops_per_step * commitment.steps;
    must(around_.core.note_upload(address(), commitment.delta_root));
    const auto taken = around_.core.commit_unit(
        address(), protocol::sign(around_.domain, commitment, machine_.key), trained.records);
    // Late, or its unit ended meanwhile. Anything else is a mistake of the simulator.
    const bool late = !taken.ok() && (taken.error().code == ErrorCode::kTimeout ||
                                      taken.error().code == ErrorCode::kConflict);
    if (!taken.ok() && !late) must(taken);
    later(round_trips(1) / 2, [this, unit = task.unit_id(), late] { delivered(unit, !late); });
}

void VirtualNode::delivered(const Digest& unit, bool taken) {
    if (computed_.erase(unit) == 0) return finish(taken);
    ++(taken ? totals_.done : totals_.late);
    around_.changed();
}

// Verifiers.

void VirtualNode::verify(const records::VerifyTask& task) {
    const Settings& settings = around_.settings;
    std::uint64_t more_bytes = 0;
    double seconds = 0;
    if (task.kind() == UnitKind::kEvaluate) {
        seconds = VirtualCompute::evaluate_flops(settings, settings.evaluate_windows) /
                  settings.operator_flops;
    } else if (task.kind() == UnitKind::kAggregate) {
        more_bytes = settings.bytes(settings.codec.outer_state) +
                     task.deltas.size() * settings.bytes(settings.codec.delta);
        seconds = VirtualCompute::aggregate_seconds(settings, task.deltas.size(), kVerifierThreads);
    } else {
        seconds = task.record.assignment.value().steps / machine_.steps_per_second;
    }
    if (!recomputed_.insert(task.unit_id()).second) {
        more_bytes = 0;
        seconds = 0;
    }
    const std::int64_t wait_ms = round_trips(3) + fetch(task.inputs, more_bytes);
    later(wait_ms, [this, task, seconds] { compute(seconds, [this, task] { report(task); }); });
}

protocol::Report VirtualNode::make_report(const records::VerifyTask& task, Bytes& records) const {
    FakeCompute& compute = around_.compute;
    const blob::BlobStore& blobs = around_.blobs;
    protocol::Report out;
    out.unit = task.unit_id();
    out.draw = task.draw;
    out.verifier = address();
    if (task.kind() == UnitKind::kAggregate) {
        const Bytes program = must(blobs.get(task.inputs.program_blob));
        std::vector<coordinator::Compute::DeltaPtr> deltas;
        for (const protocol::IncludedDelta& delta : task.deltas)
            deltas.push_back(must(compute.check_delta(program, blobs, delta.delta_root)));
        const auto result = must(
            compute.aggregate(program, must(blobs.get(task.inputs.base_state_blob)),
                              must(blobs.get(*task.inputs.momentum_blob)), deltas, task.deltas));
        records = result.records;
        out.final_state_root = result.base.root;
        out.delta_root = result.momentum.root;
    } else if (task.kind() == UnitKind::kEvaluate) {
        const Bytes base = must(blobs.get(task.inputs.base_state_blob));
        records = FakeCompute::evaluation_records(base);
        out.delta_root = FakeCompute::evaluation_root(base);
        out.final_state_root = task.commitment.commitment.final_state_root;
    } else {
        const FakeCompute::Trained trained = FakeCompute::train(task.record);
        records = trained.records;
        out.final_state_root = trained.final_state;
        out.delta_root = blob::blob_root(trained.delta);
    }
    out.challenge_signature = machine_.key.sign_digest(
        protocol::trace_challenge_digest(around_.domain, task.beacon, out.unit));
    out.trace = FakeCompute::trace(records, out.challenge_signature);
    out.records_root = must(compute.records_root(records));
    out.salt = testing::tagged("salt", {out.unit.view(), address().view()});
    return out;
}

void VirtualNode::report(const records::VerifyTask& task) {
    Bytes records;
    const protocol::Report report = make_report(task, records);
    later(round_trips(1) / 2, [this, task, report, records] {
        const auto claimed = around_.core.commit_report(
            address(), report.unit, report.draw, protocol::report_digest(task.beacon, report));
        // Its draw went to another verifier, or its unit ended.
        if (!claimed.ok()) return later(round_trips(1) / 2, [this] { finish(false); });
        later(round_trips(1), [this, report, records] {
            const auto outcome = around_.core.reveal_report(report, records);
            if (outcome.ok()) GYM_ASSERT(outcome->equal, "an honest verifier finds a difference");
            later(round_trips(1) / 2, [this, ok = outcome.ok()] { finish(ok); });
        });
    });
}

}  // namespace gym::sim
