#include "gym/coordinator/decisions.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/speed_text.hpp"
#include "gym/registry/job_spec.hpp"
#include "gym/registry/pauses.hpp"

namespace gym::coordinator {
namespace {

using protocol::UnitState;
using registry::JobRequest;
using registry::JobStatus;
using registry::RoundState;

protocol::RoundRecord first_record(const registry::Job& job) {
    const registry::JobArtifacts& artifacts = *job.artifacts;
    protocol::RoundRecord record;
    record.job_id = job.id;
    record.round = 1;
    record.base_state_root = artifacts.base_state_root;
    record.momentum_root = artifacts.momentum_root;
    record.program_root = artifacts.program_root;
    record.evaluate_program_root = artifacts.evaluate_program_root;
    record.dataset_root = job.dataset_root;
    record.job_seed = artifacts.seed;
    record.checkpoint_every = job.terms.checkpoint_every;
    record.tokens_per_step = artifacts.tokens_per_step;
    record.flops_per_step = artifacts.flops_per_step;
    record.sampling = job.terms.sampling;
    return record;
}

/// Whether a request to pause changes anything: also of a job that waits for money, which more
/// money would end otherwise; not an owner's after the last round, which would keep the budget
/// locked and pause nothing.
bool pauses(const registry::Job& job) {
    if (job.request_reason.empty() && job.rounds_done >= job.terms.rounds) return false;
    if (job.status != JobStatus::kPaused) return job.status == JobStatus::kRunning;
    return registry::ends_with_money(job.status_reason);
}

}  // namespace

std::optional<JobChange> answer_request(const registry::Job& job) {
    if (!job.request) return std::nullopt;
    if (*job.request == JobRequest::kCancel)
        return JobChange{JobStatus::kCancelled, "cancelled by its owner"};
    if (*job.request == JobRequest::kPause && pauses(job))
        return JobChange{JobStatus::kPaused,
                         job.request_reason.empty() ? "paused by its owner" : job.request_reason};
    if (*job.request == JobRequest::kResume && job.status == JobStatus::kPaused)
        return JobChange{JobStatus::kRunning, ""};
    if (job.status == JobStatus::kSubmitted) return std::nullopt;
    return JobChange{job.status, job.status_reason};
}

bool is_complete(const registry::Job& job, std::size_t open_rounds) {
    return job.status == JobStatus::kRunning && job.rounds_done >= job.terms.rounds &&
           open_rounds == 0;
}

std::optional<std::string> budget_pause(const registry::Job& job, const Amount& needed) {
    if (job.status != JobStatus::kRunning || needed <= job.budget_wei) return std::nullopt;
    return std::string(registry::kBudgetPause) + "with another round the job may cost " +
           needed.to_tokens() + " tokens in all, its budget is " + job.budget_wei.to_tokens() +
           "; `gym job fund` adds to it and resumes the job";
}

std::uint64_t delta_bytes_max(const registry::Job& job) {
    return job.artifacts->delta_bytes;
}

std::uint64_t last_round_of(const registry::JobTerms& terms) {
    return terms.rounds + terms.elastic.overlap;
}

std::optional<std::uint64_t> next_round(const registry::Job& job,
                                        const std::optional<registry::Round>& last) {
    if (last && !last->next_base) return std::nullopt;
    const std::uint64_t number = last ? last->round + 1 : 1;
    return number > last_round_of(job.terms) ? std::nullopt : std::optional(number);
}

std::uint64_t slots_of_round(const registry::Job& job, std::uint64_t deltas_bytes_max) {
    const std::uint64_t slots =
        slots_of_round(job.terms.slots_max, job.artifacts->delta_bytes, deltas_bytes_max);
    const std::uint64_t fit = room_for_added(job, deltas_bytes_max);
    if (!job.terms.elastic.holds_deltas()) return std::min(slots, fit);
    return std::min(slots, std::max<std::uint64_t>(2 * fit / 3, 1));
}

std::uint64_t room_for_added(const registry::Job& job, std::uint64_t deltas_bytes_max) {
    const std::uint64_t fit = deltas_of_aggregate(job, deltas_bytes_max);
    if (!job.terms.elastic.subtract) return fit;
    const std::uint64_t kept = std::min<std::uint64_t>(protocol::kWithdrawnMax, (fit + 7) / 8);
    return std::max<std::uint64_t>(fit - kept, 1);
}

std::uint64_t deltas_of_aggregate(const registry::Job& job, std::uint64_t deltas_bytes_max) {
    return slots_of_round(registry::kJobSlotsMax, job.artifacts->delta_bytes, deltas_bytes_max);
}

std::uint64_t slots_of_round(std::uint64_t slots_max, std::uint64_t delta_bytes,
                             std::uint64_t deltas_bytes_max) {
    const std::uint64_t fit = deltas_bytes_max / std::max<std::uint64_t>(delta_bytes, 1);
    return std::min<std::uint64_t>(
        {slots_max, registry::kJobSlotsMax, std::max<std::uint64_t>(fit, 1)});
}

std::optional<std::string> size_pause(const registry::Job& job, const SizeLimits& limits) {
    if (job.status != JobStatus::kRunning) return std::nullopt;
    const std::string why = protocol::too_large(
        {job.artifacts->delta_bytes, job.artifacts->state_bytes}, job.terms.workers_min, limits);
    if (why.empty()) return std::nullopt;
    return std::string(registry::kSizePause) + why + ", then `gym job resume`, or cancel the job";
}

bool is_free(std::span<const registry::Unit> open_units) {
    return !is_disputed(open_units) &&
           std::ranges::none_of(open_units, [](const registry::Unit& unit) {
               return unit.status.state == UnitState::kAssigned;
           });
}

bool is_free_after(const registry::Round& last, std::span<const registry::Unit> open_units) {
    return !is_disputed(open_units) &&
           std::ranges::all_of(open_units, [&](const registry::Unit& unit) {
               return unit.status.state != UnitState::kAssigned ||
                      (unit.key.job_id == last.job_id && unit.key.round == last.round);
           });
}

bool is_late(std::span<const registry::Unit> open_units) {
    return std::ranges::any_of(open_units, [](const registry::Unit& unit) {
        return unit.status.state == UnitState::kAssigned && unit.status.late;
    });
}

namespace {

/// Nobody knows yet who is right.
bool is_doubted(const registry::Unit& unit) {
    return unit.status.state == UnitState::kDisputed && !is_only_challenged(unit) &&
           !is_refuted(unit);
}

}  // namespace

bool is_disputed(std::span<const registry::Unit> open_units) {
    return std::ranges::any_of(open_units, is_doubted);
}

std::vector<registry::Node> choose_workers(const SlotDraw& draw,
                                           std::vector<registry::Node> workers,
                                           std::uint64_t slots) {
    const Digest beacon = draw.before ? draw.before->beacon : Digest();
    // When a worker registered, of one that could know the beacon; then the hash.
    using Rank = std::pair<UnixMs, Digest>;
    std::vector<std::pair<Rank, registry::Node>> ranked;
    ranked.reserve(workers.size());
    for (registry::Node& node : workers) {
        commit::Encoder encoder;
        encoder.raw(as_bytes("gym.slot.v2")).fixed(beacon).fixed(draw.job_id).u64(draw.round);
        encoder.fixed(node.address);
        const bool knew = draw.before && node.registered_at_ms > draw.before->sealed_at_ms;
        ranked.emplace_back(Rank{knew ? node.registered_at_ms : 0, commit::sha256(encoder.view())},
                            std::move(node));
    }
    std::sort(ranked.begin(), ranked.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<registry::Node> out;
    for (auto& [rank, node] : ranked)
        if (out.size() < slots) out.push_back(std::move(node));
    return out;
}

namespace {

/// The upper one of two in the middle; 0 of none.
double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

double benchmark_of(const registry::Node& worker) {
    return static_cast<double>(worker.profile.flops_per_second);
}

/// Of each worker; 0: nothing is known.
std::vector<double> expected_paces(std::span<const registry::Node> workers,
                                   const std::map<Address, double>& measured) {
    std::vector<double> ratios;
    for (const registry::Node& worker : workers)
        if (const auto pace = measured.find(worker.address);
            pace != measured.end() && benchmark_of(worker) > 0)
            ratios.push_back(pace->second / benchmark_of(worker));
    // Where all have worked, or none, ratios to each other are all that counts.
    const double ratio = ratios.empty() ? 1 : median(ratios);
    std::vector<double> out;
    for (const registry::Node& worker : workers) {
        const auto pace = measured.find(worker.address);
        const bool comparable = measured.empty() || !ratios.empty();
        out.push_back(pace != measured.end() ? pace->second
                      : comparable           ? ratio * benchmark_of(worker)
                                             : 0);
    }
    return out;
}

/// Of the steps of a worker whose units are all drawn: it fetches dataset and base state first, and
/// its unit has to be executed again before the next aggregate, or its delta is lost.
constexpr double kNewcomersShare = 0.9;

/// Of a unit of so many steps. One whose value cannot be counted is always drawn.
std::uint32_t rate_of(const registry::JobTerms& terms, const registry::Node& worker,
                      std::uint64_t flops_per_step, std::uint32_t steps) {
    const auto unit = protocol::unit_value({terms.price_wei_per_pflop, flops_per_step, steps});
    return protocol::sampling_rate_ppm(
        unit.ok() ? protocol::units_worth(worker.valid_value, *unit) : 0, terms.sampling);
}

/// Of the job's steps, by each worker's expected pace: all of them at the median's and above.
std::vector<double> shares_by_pace(std::span<const double> expected) {
    std::vector<double> known;
    std::ranges::copy_if(expected, std::back_inserter(known), [](double pace) { return pace > 0; });
    const double middle = median(known);
    std::vector<double> out;
    for (const double pace : expected)
        out.push_back(pace > 0 ? std::min(pace / middle, 1.0) : 1);
    return out;
}

}  // namespace

std::vector<std::uint32_t> steps_of(const registry::JobTerms& terms,
                                    std::span<const registry::Node> workers, const Paces& paces,
                                    std::uint64_t flops_per_step) {
    std::vector<std::uint32_t> out(workers.size(), terms.steps);
    if (!terms.elastic.adapt_steps) return out;
    std::vector<double> shares = shares_by_pace(expected_paces(workers, paces.measured));
    const auto is_new = [&](const registry::Node& node) {
        return rate_of(terms, node, flops_per_step, terms.steps) >= kPpm;
    };
    const auto newcomers = static_cast<std::size_t>(std::ranges::count_if(workers, is_new));
    for (std::size_t i = 0; i < out.size(); ++i) {
        // Where all are new the round waits for its verification anyway.
        if (2 * newcomers < workers.size() && is_new(workers[i])) shares[i] *= kNewcomersShare;
        if (const auto expired = paces.expired.find(workers[i].address);
            expired != paces.expired.end())
            shares[i] = std::ldexp(shares[i], -static_cast<int>(expired->second));
        const std::uint32_t in_time =
            protocol::steps_in_time({flops_per_step, terms.steps, terms.lifecycle.unit_ms},
                                    workers[i].profile.flops_per_second);
        const auto by_pace = static_cast<std::uint32_t>(std::llround(terms.steps * shares[i]));
        const auto backed = paces.backed.find(workers[i].address);
        const std::uint32_t by_stake = backed == paces.backed.end() ? terms.steps : backed->second;
        out[i] = std::max(1U, std::min({by_pace, in_time, by_stake}));
    }
    return out;
}

protocol::UnitLength least_unit(const registry::Job& job) {
    return {job.artifacts->flops_per_step, job.terms.elastic.adapt_steps ? 1 : job.terms.steps,
            job.terms.lifecycle.unit_ms};
}

protocol::UnitPay least_pay(const registry::Job& job) {
    return {job.terms.price_wei_per_pflop, job.artifacts->flops_per_step, least_unit(job).steps};
}

bool takes_late(const registry::JobTerms& terms, std::uint64_t round) {
    return terms.elastic.accept_late && round < terms.rounds;
}

protocol::LifecycleParams lifecycle_of(const registry::Job& job, std::uint64_t round) {
    protocol::LifecycleParams out = job.terms.lifecycle;
    if (takes_late(job.terms, round) && !job.ended_at_ms)
        out.late_ms = out.unit_ms + out.report_ms + out.reveal_ms;
    return out;
}

std::int64_t unit_ms_of(const registry::JobTerms& terms, std::uint64_t round) {
    const std::int64_t units = 1 + (round > 1 ? terms.elastic.overlap : 0);
    return units * terms.lifecycle.unit_ms;
}

bool has_quorum(const registry::JobTerms& terms, const protocol::RoundRecord& record,
                std::span<const registry::Unit> units, const std::set<Address>& gone) {
    std::uint64_t all = 0, committed = 0, lost = 0;
    for (const protocol::SlotAssignment& slot : record.slots)
        all += slot.steps;
    for (const registry::Unit& unit : units) {
        const protocol::SlotAssignment* const slot = record.find_slot(unit.key.slot);
        if (slot == nullptr) continue;
        if (unit.status.state == UnitState::kCommitted) committed += slot->steps;
        if (unit.status.state == UnitState::kAssigned && gone.contains(unit.worker))
            lost += slot->steps;
    }
    return committed * kPpm >= (all - lost) * terms.elastic.quorum_ppm && 2 * committed >= all;
}

bool may_hold(const registry::JobTerms& terms, const protocol::RoundRecord& record,
              std::span<const registry::Unit> units) {
    if (!terms.elastic.hold_drawn || record.round >= terms.rounds) return false;
    std::uint64_t all = 0, accepted = 0;
    for (const protocol::SlotAssignment& slot : record.slots)
        all += slot.steps;
    for (const registry::Unit& unit : units) {
        const protocol::SlotAssignment* const slot = record.find_slot(unit.key.slot);
        if (slot != nullptr && protocol::is_accepted(unit.status.state)) accepted += slot->steps;
    }
    return accepted > 0 && 2 * accepted >= all;
}

Plan make_plan(const registry::Job& job, const std::optional<registry::Round>& last,
               std::vector<protocol::IncludedDelta> included,
               const std::vector<registry::Node>& workers, const Paces& paces) {
    Plan plan;
    plan.record = first_record(job);
    plan.base = {job.artifacts->base_state_root, job.artifacts->base_state_blob};
    plan.momentum = {job.artifacts->momentum_root, job.artifacts->momentum_blob};
    if (last) {
        plan.base = *last->next_base;
        plan.momentum = *last->next_momentum;
        plan.record.round = last->round + 1;
        plan.record.previous_record = last->record_hash;
        plan.record.base_state_root = plan.base.root;
        plan.record.momentum_root = plan.momentum.root;
        plan.record.aggregate_program_root = last->aggregate_program_root.value_or(Digest{});
        plan.record.included = std::move(included);
    }
    plan.record.accept_late = takes_late(job.terms, plan.record.round);
    plan.record.subtract = job.terms.elastic.subtract;
    const std::vector<std::uint32_t> steps =
        steps_of(job.terms, workers, paces, job.artifacts->flops_per_step);
    for (std::uint32_t slot = 0; slot < workers.size(); ++slot)
        plan.record.slots.push_back(
            {slot, workers[slot].address,
             rate_of(job.terms, workers[slot], job.artifacts->flops_per_step, steps[slot]),
             steps[slot]});
    return plan;
}

std::vector<UnitState> states_that_hold(RoundState state) {
    switch (state) {
        case RoundState::kOpen:
            return {UnitState::kAssigned};
        case RoundState::kVerifying:
            return {UnitState::kCommitted, UnitState::kSampled, UnitState::kReported,
                    UnitState::kRevealed};
        case RoundState::kAggregated:
            return registry::open_states();
        case RoundState::kRecorded:
        case RoundState::kSealed:
        case RoundState::kPosted:
        case RoundState::kClosed:
            break;
    }
    return {};
}

bool may_evaluate(RoundState last) {
    return last == RoundState::kOpen || last == RoundState::kAggregated ||
           last == RoundState::kClosed;
}

RoundStep next_step(const RoundFacts& facts) {
    switch (facts.state) {
        case RoundState::kRecorded:
            return facts.record_on_chain ? RoundStep::kAssignUnits : RoundStep::kPostRecord;
        case RoundState::kOpen:
            return facts.held ? RoundStep::kWait : RoundStep::kSeal;
        case RoundState::kSealed:
            return facts.epoch_on_chain ? RoundStep::kSetBeaconBlock : RoundStep::kPostEpoch;
        case RoundState::kPosted:
            return facts.beacon_known ? RoundStep::kDrawSample : RoundStep::kWait;
        case RoundState::kVerifying:
            return facts.held ? RoundStep::kWait : RoundStep::kAggregate;
        case RoundState::kAggregated:
            return facts.held ? RoundStep::kWait : RoundStep::kClose;
        case RoundState::kClosed:
            break;
    }
    return RoundStep::kWait;
}

std::optional<Address> choose_verifier(const registry::Round& round, const registry::Unit& unit,
                                       std::span<const registry::Node> verifiers,
                                       std::span<const registry::MissedDraws> missed,
                                       const std::map<Address, std::uint32_t>& waiting,
                                       const std::function<bool(const registry::Node&)>& admits) {
    std::vector<protocol::VerifierCandidate> candidates;
    for (const registry::Node& node : verifiers) {
        // An owner's verifier would find its owner's own work right.
        if (!admits(node) || node.owner == unit.owner) continue;
        if (node.registered_at_ms > round.sealed_at_ms.value_or(0)) continue;
        protocol::VerifierCandidate candidate{node.address};
        if (const auto load = waiting.find(node.address); load != waiting.end())
            candidate.units_waiting = load->second;
        for (const registry::MissedDraws& draws : missed)
            if (draws.verifier == node.address) candidate.draws_failed = draws.count;
        candidates.push_back(candidate);
    }
    return protocol::assign_verifier(*round.beacon, unit.id, unit.status.draws - 1, unit.worker,
                                     candidates);
}

bool is_only_challenged(const records::UnitSummary& unit) {
    return unit.status.state == UnitState::kDisputed &&
           unit.reason_code == protocol::to_string(protocol::ReasonCode::kChallenged);
}

bool is_refuted(const records::UnitSummary& unit) {
    return unit.status.state == UnitState::kDisputed &&
           unit.reason_code == protocol::to_string(protocol::ReasonCode::kFalseReport);
}

GameVerdict verdict_of(const registry::GameWatch& games, std::uint64_t from_block,
                       const std::optional<registry::DisputedUnit>& known) {
    if (known && (known->faulty || known->open_games > 0)) return GameVerdict::kOpen;
    if (games.is_window_open(from_block)) return GameVerdict::kOpen;
    return known ? GameVerdict::kUpheld : GameVerdict::kNeverOpened;
}

DisputeStep next_step(const DisputeFacts& facts, UnixMs now_ms) {
    if (facts.games == GameVerdict::kOpen) {
        const bool reported = !is_only_challenged(facts.unit) && !is_refuted(facts.unit);
        return reported && !facts.own ? DisputeStep::kLookEarly : DisputeStep::kWait;
    }
    if (facts.games == GameVerdict::kUpheld && is_only_challenged(facts.unit))
        return DisputeStep::kUphold;
    const protocol::UnitStatus& status = facts.unit.status;
    if (facts.own && !status.defended) return DisputeStep::kDefendAndRule;
    const bool due = status.deadline_ms != 0 && now_ms > status.deadline_ms;
    return facts.own || status.defended || due ? DisputeStep::kRule : DisputeStep::kWait;
}

std::optional<Address> reporter_of(const registry::Unit& unit) {
    return is_only_challenged(unit) ? std::nullopt : unit.verifier;
}

UnitChange uphold(const registry::Unit& unit, const protocol::UnitEvent& event) {
    UnitChange out{event, std::nullopt};
    if (const auto reporter = reporter_of(unit))
        out.reason = protocol::false_report(unit.key, *reporter);
    return out;
}

Result<UnitChange> reject(const registry::Unit& unit, const std::optional<GameVerdict>& games) {
    GYM_TRY(const protocol::ReasonCode code, protocol::parse_reason_code(unit.reason_code));
    const protocol::Reason dispute{code, unit.reason};
    UnitChange out{protocol::event::TimePassed{}, protocol::no_defence(dispute)};
    if (unit.status.defended)
        out = {protocol::event::Ruled{false}, protocol::referee_ruled(dispute)};
    if (games == GameVerdict::kNeverOpened) out.reason = protocol::no_game(*out.reason);
    if (games == GameVerdict::kUpheld) out.reason = protocol::games_lost(*out.reason);
    return out;
}

protocol::Reason slash_reason(const registry::Unit& unit) {
    const auto code = protocol::parse_reason_code(unit.reason_code);
    const bool reported = unit.status.state == UnitState::kDisputed && code.ok() &&
                          !is_only_challenged(unit) && !is_refuted(unit);
    return reported ? protocol::game_proved({*code, unit.reason}) : protocol::game_proved(unit.key);
}

namespace {

/// Of the jobs that have rounds left, if the worker is in time for none; else empty.
std::string too_slow_for(std::span<const registry::Job* const> jobs,
                         std::uint64_t flops_per_second) {
    std::optional<double> least;
    for (const registry::Job* job : jobs) {
        if (!job->artifacts || protocol::is_in_time(least_unit(*job), flops_per_second)) return {};
        const double needed = protocol::speed_for(least_unit(*job));
        least = std::min(least.value_or(needed), needed);
    }
    if (!least) return {};
    return "its benchmark says " + speed_text(static_cast<double>(flops_per_second)) +
           ", and no running job has units that it does in time; " + speed_text(*least) +
           " would be enough for one";
}

}  // namespace

std::string worker_idle_because(std::span<const registry::Unit> open_units,
                                std::span<const registry::Job> running_jobs,
                                std::uint64_t flops_per_second) {
    for (const registry::Unit& unit : open_units)
        if (unit.status.state == UnitState::kAssigned) return "";
    for (const registry::Unit& unit : open_units)
        if (is_doubted(unit))
            return protocol::name_unit(unit.key) +
                   " is disputed; no new unit before the coordinator has run it again";
    if (running_jobs.empty()) return "no job is running";
    std::vector<const registry::Job*> unfinished;
    for (const registry::Job& job : running_jobs)
        if (job.rounds_done < job.terms.rounds) unfinished.push_back(&job);
    if (unfinished.empty()) return "every running job has done all its rounds";
    const std::string slow = too_slow_for(unfinished, flops_per_second);
    return slow.empty() ? "waiting for the next round to begin" : slow;
}

std::string verifier_idle_because(const Address& verifier,
                                  std::span<const registry::Unit> open_units) {
    for (const registry::Unit& unit : open_units)
        if (unit.verifier == verifier &&
            (unit.status.state == UnitState::kSampled || unit.status.state == UnitState::kReported))
            return "";
    return "no drawn unit is assigned to this verifier";
}

}  // namespace gym::coordinator
