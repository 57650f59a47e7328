#include "sim_coordinator.hpp"

#include <algorithm>

#include "gym/commit/sha256.hpp"
#include "gym/protocol/inclusion.hpp"
#include "gym/protocol/sampling.hpp"

namespace gym::sim {
namespace {

/// Of every unit.
constexpr std::uint32_t kSteps = 10;

using protocol::UnitState;
namespace event = protocol::event;

Digest numbered(std::string_view tag, std::uint64_t number) {
    commit::Hasher hasher;
    return hasher.update(as_bytes(tag)).update_u64(number).finish();
}

bool is_honest(const UnitRow& unit) {
    const Truth truth = truth_of(unit.key);
    return unit.commitment->records_root == truth.records_root &&
           unit.commitment->final_state_root == truth.final_state_root &&
           unit.commitment->delta_root == truth.delta_root;
}

}  // namespace

Truth truth_of(const protocol::UnitKey& key) {
    const Digest id = protocol::unit_id(key);
    const auto part = [&](std::string_view tag) {
        commit::Hasher hasher;
        return hasher.update(as_bytes(tag)).update(id).finish();
    };
    return {part("records"), part("state"), part("delta")};
}

SimCoordinator::SimCoordinator(Rules rules, std::vector<NodeRow> nodes, std::uint64_t seed,
                               Send send, Watch watch)
    : rules_(rules),
      nodes_(std::move(nodes)),
      beacon_source_(seed),
      send_(std::move(send)),
      watch_(std::move(watch)) {}

bool SimCoordinator::is_live(const NodeRow& node, UnixMs now_ms) const {
    return !node.excluded && now_ms - node.seen_ms <= rules_.live_ms;
}

std::vector<UnitRow*> SimCoordinator::units_of(std::uint64_t round) {
    std::vector<UnitRow*> out;
    for (auto& [id, unit] : units_)
        if (unit.key.round == round) out.push_back(&unit);
    return out;
}

bool SimCoordinator::apply(UnitRow& unit, const protocol::UnitEvent& event, UnixMs now_ms) {
    const auto next = protocol::apply(unit.status, event, rules_.lifecycle, now_ms);
    if (!next.ok()) return false;
    if (*next == unit.status) return true;
    const UnitRow before = unit;
    unit.status = *next;
    const bool was_drawn =
        before.status.state == UnitState::kSampled || before.status.state == UnitState::kReported;
    if (was_drawn && (next->draws > before.status.draws || next->state == UnitState::kUnpaid)) {
        if (unit.verifier) ++unit.missed[*unit.verifier];
        unit.verifier.reset();
        unit.report_digest.reset();
    }
    NodeRow& worker = nodes_[unit.worker];
    if (next->state == UnitState::kFinal && !worker.excluded) ++worker.valid_run;
    if (next->state == UnitState::kRejected) worker.valid_run = 0;
    watch_(before, unit);
    if (next->state == UnitState::kRejected) exclude_worker(unit.worker, now_ms);
    if (next->state == UnitState::kSampled) assign(unit, now_ms);
    return true;
}

void SimCoordinator::assign(UnitRow& unit, UnixMs now_ms) {
    if (unit.verifier || unit.status.state != UnitState::kSampled) return;
    std::vector<protocol::VerifierCandidate> candidates;
    for (NodeId id = 0; id < nodes_.size(); ++id)
        if (nodes_[id].is_verifier && is_live(nodes_[id], now_ms)) {
            const auto missed = unit.missed.find(id);
            candidates.push_back(
                {nodes_[id].address, missed == unit.missed.end() ? 0 : missed->second});
        }
    const auto chosen =
        protocol::assign_verifier(rounds_[unit.key.round - 1].beacon, protocol::unit_id(unit.key),
                                  unit.status.draws - 1, nodes_[unit.worker].address, candidates);
    for (NodeId id = 0; id < nodes_.size() && chosen; ++id)
        if (nodes_[id].address == *chosen) unit.verifier = id;
}

void SimCoordinator::exclude_worker(NodeId worker, UnixMs now_ms) {
    nodes_[worker].excluded = true;
    for (auto& [id, unit] : units_)
        if (unit.worker == worker && !protocol::is_terminal(unit.status.state) &&
            unit.status.state != UnitState::kDisputed)
            apply(unit, event::Voided{}, now_ms);
}

void SimCoordinator::exclude_verifier(NodeId verifier, UnixMs now_ms) {
    nodes_[verifier].excluded = true;
    for (auto& [id, unit] : units_)
        if (unit.verifier == verifier &&
            (unit.status.state == UnitState::kSampled || unit.status.state == UnitState::kReported))
            apply(unit, event::Redrawn{}, now_ms);
}

void SimCoordinator::referee(UnitRow& unit, UnixMs now_ms) {
    const bool right = is_honest(unit);
    if (!right && !unit.status.defended) {
        apply(unit, event::TimePassed{}, now_ms);
        return;
    }
    if (apply(unit, event::Ruled{right}, now_ms) && right && unit.decided_by)
        exclude_verifier(*unit.decided_by, now_ms);
}

void SimCoordinator::receive(NodeId from, const Message& message, UnixMs now_ms) {
    nodes_[from].seen_ms = now_ms;
    if (nodes_[from].excluded) return;
    if (std::holds_alternative<Poll>(message)) on_poll(from, now_ms);
    if (const auto* commit = std::get_if<Commit>(&message)) on_commit(from, *commit, now_ms);
    if (const auto* report = std::get_if<ReportCommit>(&message)) on_report(from, *report, now_ms);
    if (const auto* reveal = std::get_if<Reveal>(&message)) on_reveal(from, *reveal, now_ms);
    if (const auto* defence = std::get_if<Defend>(&message)) {
        const auto found = units_.find(defence->unit);
        if (found != units_.end() && found->second.worker == from)
            apply(found->second, event::Defended{}, now_ms);
    }
}

void SimCoordinator::on_poll(NodeId from, UnixMs now_ms) {
    if (nodes_[from].is_verifier)
        answer_verifier(from, now_ms);
    else
        answer_worker(from);
}

void SimCoordinator::answer_worker(NodeId from) {
    for (const auto& [id, unit] : units_) {
        if (unit.worker != from) continue;
        if (unit.status.state == UnitState::kDisputed && !unit.status.defended)
            send_(from, Disputed{id});
        if (unit.status.state == UnitState::kAssigned)
            send_(from, Assignment{unit.key, rounds_[unit.key.round - 1].record});
    }
}

void SimCoordinator::answer_verifier(NodeId from, UnixMs now_ms) {
    for (const auto& [id, unit] : units_) {
        const bool waits =
            unit.status.state == UnitState::kSampled || unit.status.state == UnitState::kReported;
        if (unit.verifier != from || !waits || now_ms > unit.status.deadline_ms) continue;
        send_(from, Task{id, unit.key, rounds_[unit.key.round - 1].beacon, unit.status.draws - 1});
        return;
    }
}

void SimCoordinator::on_commit(NodeId from, const Commit& commit, UnixMs now_ms) {
    const auto found = units_.find(commit.unit);
    if (found == units_.end()) return;
    UnitRow& unit = found->second;
    const protocol::RoundRecord& record = rounds_[unit.key.round - 1].record;
    if (!protocol::check_against_round(commit.commitment, record, protocol::hash(record),
                                       nodes_[from].address, unit.key.attempt)
             .ok())
        return;
    if (unit.commitment) {
        if (protocol::is_equivocation(*unit.commitment, commit.commitment))
            apply(unit, event::FaultProven{}, now_ms);
        else
            send_(from, CommitTaken{commit.unit});
        return;
    }
    unit.commitment = commit.commitment;
    if (apply(unit, event::Committed{}, now_ms))
        send_(from, CommitTaken{commit.unit});
    else
        unit.commitment.reset();
}

void SimCoordinator::on_report(NodeId from, const ReportCommit& report, UnixMs now_ms) {
    const auto found = units_.find(report.unit);
    if (found == units_.end()) return;
    UnitRow& unit = found->second;
    if (unit.verifier != from || unit.status.draws != report.draw + 1) return;
    if (unit.report_digest == report.digest) {
        send_(from, ReportTaken{report.unit, report.draw});
        return;
    }
    if (unit.report_digest || !apply(unit, event::Reported{}, now_ms)) return;
    unit.report_digest = report.digest;
    send_(from, ReportTaken{report.unit, report.draw});
}

void SimCoordinator::on_reveal(NodeId from, const Reveal& reveal, UnixMs now_ms) {
    const auto found = units_.find(reveal.report.unit);
    if (found == units_.end()) return;
    UnitRow& unit = found->second;
    const protocol::Report& report = reveal.report;
    if (unit.verifier != from || unit.status.draws != report.draw + 1) return;
    const Digest& beacon = rounds_[unit.key.round - 1].beacon;
    if (unit.report_digest != protocol::report_digest(beacon, report)) return;
    if (!apply(unit, event::Revealed{}, now_ms)) return;
    unit.decided_by = from;
    const bool equal = protocol::roots_of(*unit.commitment) == protocol::roots_of(report);
    apply(unit, event::Compared{equal}, now_ms);
}

void SimCoordinator::step_deadlines(UnixMs now_ms) {
    for (auto& [id, unit] : units_) {
        const bool due = unit.status.deadline_ms != 0 && now_ms > unit.status.deadline_ms;
        if (unit.status.state == UnitState::kDisputed) {
            if (due || unit.status.defended) referee(unit, now_ms);
        } else if (due) {
            apply(unit, event::TimePassed{}, now_ms);
        } else if (unit.status.state == UnitState::kSampled) {
            assign(unit, now_ms);
        }
    }
}

void SimCoordinator::step_round(RoundRow& round, UnixMs now_ms) {
    const auto units = units_of(round.record.round);
    const auto any = [&](std::initializer_list<UnitState> states) {
        return std::any_of(units.begin(), units.end(), [&](const UnitRow* unit) {
            return std::find(states.begin(), states.end(), unit->status.state) != states.end();
        });
    };
    if (round.phase == Phase::kOpen && !any({UnitState::kAssigned})) {
        round.phase = Phase::kBeacon;
        round.beacon_at_ms = now_ms + rules_.beacon_ms;
    } else if (round.phase == Phase::kBeacon && now_ms >= round.beacon_at_ms) {
        round.beacon = numbered("beacon", beacon_source_());
        round.phase = Phase::kVerifying;
        for (UnitRow* unit : units)
            if (unit->status.state == UnitState::kCommitted)
                apply(*unit,
                      event::Drawn{protocol::is_sampled(round.beacon, protocol::unit_id(unit->key),
                                                        unit->rate_ppm)},
                      now_ms);
    } else if (round.phase == Phase::kVerifying &&
               !any({UnitState::kCommitted, UnitState::kSampled, UnitState::kReported,
                     UnitState::kRevealed})) {
        std::vector<protocol::DeltaCandidate> candidates;
        for (const UnitRow* unit : units)
            if (unit->commitment)
                candidates.push_back({unit->key.slot, protocol::unit_id(unit->key),
                                      unit->commitment->delta_root, unit->status.state, 1.0});
        for (const auto& included : protocol::include_deltas(candidates, {}).included)
            units_.at(included.unit).included = true;
        round.phase = Phase::kAggregated;
    }
}

void SimCoordinator::begin_round(UnixMs now_ms) {
    if (!rounds_.empty() && rounds_.back().phase != Phase::kAggregated) return;
    if (rounds_.size() >= rules_.rounds) return;
    RoundRow round;
    protocol::RoundRecord& record = round.record;
    record.job_id = numbered("job", 1);
    record.round = rounds_.size() + 1;
    record.base_state_root = numbered("base", record.round);
    record.checkpoint_every = 5;
    record.tokens_per_step = 8;
    record.flops_per_step = 100;
    record.sampling = rules_.sampling;
    std::vector<NodeId> workers;
    for (NodeId id = 0; id < nodes_.size(); ++id) {
        const bool disputed = std::any_of(units_.begin(), units_.end(), [&](const auto& entry) {
            return entry.second.worker == id && entry.second.status.state == UnitState::kDisputed;
        });
        if (nodes_[id].is_verifier || !is_live(nodes_[id], now_ms) || disputed) continue;
        record.slots.push_back({static_cast<std::uint32_t>(workers.size()), nodes_[id].address,
                                protocol::sampling_rate_ppm(nodes_[id].valid_run, rules_.sampling),
                                kSteps});
        workers.push_back(id);
    }
    if (workers.empty() || !protocol::validate(record).ok()) return;
    rounds_.push_back(round);
    for (std::uint32_t slot = 0; slot < workers.size(); ++slot) {
        UnitRow unit;
        unit.key = {record.job_id, record.round, slot, 0};
        unit.worker = workers[slot];
        unit.rate_ppm = record.slots[slot].sampling_rate_ppm;
        unit.status = protocol::assigned(rules_.lifecycle, now_ms);
        units_.emplace(protocol::unit_id(unit.key), unit);
    }
}

void SimCoordinator::tick(UnixMs now_ms) {
    step_deadlines(now_ms);
    for (RoundRow& round : rounds_)
        step_round(round, now_ms);
    begin_round(now_ms);
}

bool SimCoordinator::finished() const {
    return rounds_.size() == rules_.rounds && rounds_.back().phase == Phase::kAggregated &&
           std::all_of(units_.begin(), units_.end(), [](const auto& entry) {
               return protocol::is_terminal(entry.second.status.state);
           });
}

}  // namespace gym::sim
