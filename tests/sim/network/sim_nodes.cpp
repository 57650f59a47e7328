#include "sim_nodes.hpp"

#include "gym/commit/sha256.hpp"

namespace gym::sim {

bool is_verifier(Behaviour behaviour) {
    return behaviour == Behaviour::kHonestVerifier || behaviour == Behaviour::kSilentVerifier ||
           behaviour == Behaviour::kLyingVerifier;
}

SimNode::SimNode(Behaviour behaviour, Address address, std::uint64_t seed)
    : behaviour_(behaviour), address_(address), random_(seed), fault_seed_(seed) {}

bool SimNode::chance(std::uint32_t percent) {
    return random_() % 100 < percent;
}

UnixMs SimNode::work_time_ms() {
    return static_cast<UnixMs>(50 + random_() % 200);
}

void SimNode::crash() {
    units_.clear();
    checks_.clear();
}

protocol::UnitCommitment SimNode::result_of(const Assignment& assignment) {
    const Truth truth = truth_of(assignment.key);
    protocol::UnitCommitment out;
    out.round_record = protocol::hash(assignment.record);
    out.slot = assignment.key.slot;
    out.records_root = truth.records_root;
    out.final_state_root = truth.final_state_root;
    out.delta_root = truth.delta_root;
    out.steps = assignment.record.slots.at(assignment.key.slot).steps;
    out.tokens = assignment.record.tokens_per_step * out.steps;
    out.flops = assignment.record.flops_per_step * out.steps;
    // A function of the unit: a cheat that crashed and runs again cheats the same way.
    commit::Hasher hasher;
    const Digest choice =
        hasher.update(protocol::unit_id(assignment.key)).update_u64(fault_seed_).finish();
    if (behaviour_ != Behaviour::kCheatingWorker || choice.data[0] % 2 == 0) return out;
    Digest* const fields[] = {&out.records_root, &out.final_state_root, &out.delta_root};
    fields[choice.data[1] % 3]->data[choice.data[2] % 32] ^= 1;
    return out;
}

void SimNode::start_unit(const Assignment& assignment, UnixMs now_ms) {
    const Digest id = protocol::unit_id(assignment.key);
    if (units_.contains(id)) return;
    units_[id] = {result_of(assignment), now_ms + work_time_ms(), false};
}

void SimNode::start_task(const Task& task, UnixMs now_ms) {
    if (behaviour_ == Behaviour::kSilentVerifier) return;
    const auto known = checks_.find(task.unit);
    if (known != checks_.end() && known->second.report.draw == task.draw) return;
    const Truth truth = truth_of(task.key);
    Check check;
    check.report.unit = task.unit;
    check.report.draw = task.draw;
    check.report.verifier = address_;
    check.report.records_root = truth.records_root;
    check.report.final_state_root = truth.final_state_root;
    check.report.delta_root = truth.delta_root;
    // Another bit than any cheat flips: liars here invent differences, they do not cover for
    // faults.
    if (behaviour_ == Behaviour::kLyingVerifier) check.report.records_root.data[0] ^= 2;
    for (std::uint8_t& byte : check.report.salt.data)
        byte = static_cast<std::uint8_t>(random_());
    check.digest = protocol::report_digest(task.beacon, check.report);
    check.ready_ms = now_ms + work_time_ms();
    checks_[task.unit] = check;
}

void SimNode::receive(const Message& message, UnixMs now_ms, const Send& send) {
    if (const auto* assignment = std::get_if<Assignment>(&message)) start_unit(*assignment, now_ms);
    if (const auto* task = std::get_if<Task>(&message)) start_task(*task, now_ms);
    if (const auto* taken = std::get_if<CommitTaken>(&message)) {
        const auto found = units_.find(taken->unit);
        if (found != units_.end()) found->second.taken = true;
    }
    if (const auto* taken = std::get_if<ReportTaken>(&message)) {
        const auto found = checks_.find(taken->unit);
        if (found != checks_.end() && found->second.report.draw == taken->draw)
            found->second.taken = true;
    }
    if (const auto* disputed = std::get_if<Disputed>(&message)) send(Defend{disputed->unit});
}

void SimNode::act(UnixMs now_ms, const Send& send) {
    send(Poll{});
    for (auto& [id, unit] : units_) {
        if (now_ms < unit.ready_ms) continue;
        if (!unit.taken) send(Commit{id, unit.commitment});
        if (unit.taken && behaviour_ == Behaviour::kEquivocatingWorker && chance(5)) {
            protocol::UnitCommitment second = unit.commitment;
            second.delta_root.data[0] ^= 1;
            send(Commit{id, second});
        }
    }
    for (const auto& [id, check] : checks_) {
        if (now_ms < check.ready_ms) continue;
        if (check.taken)
            send(Reveal{check.report});
        else
            send(ReportCommit{id, check.report.draw, check.digest});
    }
}

}  // namespace gym::sim
