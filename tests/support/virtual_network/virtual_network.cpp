#include "virtual_network.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "gym/commit/sha256.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/rounds.hpp"
#include "must.hpp"
#include "owner_orders.hpp"

namespace gym::sim {
namespace {

using records::NodeRole;
using testing::must;

constexpr UnixMs kStartMs = 1'700'000'000'000;
constexpr double kHourMs = 3'600'000;
/// A tick that nothing called for: the coordinator's own come every 200 ms, and find nothing.
constexpr std::int64_t kIdleTickMs = 10'000;
constexpr std::size_t kErrorsMax = 20;

}  // namespace

VirtualNetwork::VirtualNetwork(const Settings& settings)
    : settings_(settings),
      dice_(settings.seed),
      key_(make_key()),
      database_(test_database_.as("gym_coordinator")),
      queue_(kStartMs),
      start_ms_(kStartMs),
      chain_(queue_, {settings.block_ms, settings.confirmations}, settings.seed),
      compute_(settings_, [this](double seconds) { spend(seconds); }),
      operator_line_(settings.operator_mbps) {
    const coordinator::Options wanted = options();
    core_ = std::make_unique<coordinator::Coordinator>(
        coordinator::Dependencies{*database_, blobs_, chain_, compute_, queue_, key_, nullptr,
                                  nullptr, &background_},
        wanted);
    around_ = std::make_unique<Surroundings>(
        Surroundings{settings_, queue_, *core_, blobs_, compute_.fake(), wanted.domain,
                     operator_line_, [this] { tick_at(queue_.now_ms()); }});
    register_dataset();
}

coordinator::Options VirtualNetwork::options() const {
    coordinator::Options out;
    out.domain = protocol::signing_domain(31'337, Address{});
    out.beacon_delay_blocks = settings_.beacon_delay_blocks;
    out.audit_ppm = settings_.audit_ppm;
    // An operator that takes the model: rooms for its states, and for a round of all workers.
    out.blob_bytes_max = settings_.bytes(std::max(settings_.codec.outer_state, 4.0)) + 4'096;
    out.deltas_bytes_max = settings_.bytes(settings_.codec.delta) * (2 * settings_.slots() + 2);
    return out;
}

registry::JobTerms VirtualNetwork::terms() const {
    registry::JobTerms out;
    out.rounds = 1'000'000;
    out.slots_max = settings_.slots();
    out.workers_min = 1;
    out.steps = settings_.steps;
    out.checkpoint_every = settings_.steps;
    out.evaluate_windows = settings_.evaluate_windows;
    out.price_wei_per_pflop = Amount(1);
    out.lifecycle.unit_ms = out.lifecycle.report_ms = settings_.unit_ms();
    out.lifecycle.grace_ms = settings_.grace();
    out.elastic = settings_.elasticity();
    return out;
}

// Randomness: all of it out of the seed.

double VirtualNetwork::random() {
    return static_cast<double>((dice_() >> 11U) + 1) * 0x1p-53;
}

std::int64_t VirtualNetwork::wait_of_rate(double per_hour) {
    return static_cast<std::int64_t>(-std::log(random()) / per_hour * kHourMs);
}

crypto::PrivateKey VirtualNetwork::make_key() {
    commit::Hasher hasher;
    hasher.update(as_bytes("virtual node")).update_u64(settings_.seed).update_u64(++keys_);
    return must(crypto::PrivateKey::from_bytes(hasher.finish().view()));
}

// The job.

void VirtualNetwork::register_dataset() {
    const Bytes tokens{1, 2, 3};
    registry::Dataset dataset;
    dataset_root_ = dataset.root = testing::tagged("dataset", {tokens});
    dataset.blob = must(blobs_.put(tokens));
    dataset.owner = key_.address();
    dataset.name = "three tokens";
    dataset.tokens = 3;
    dataset.vocabulary = 256;
    dataset.licence = "CC0-1.0";
    dataset.sample.emplace();
    must(test_database_.owner().transact(
        [&](db::Transaction& tx) { return registry::register_dataset(tx, dataset); }));
}

void VirtualNetwork::submit_job() {
    registry::NewJob job;
    job.owner = key_.address();
    job.name = "a job";
    job.spec_yaml = "model";
    job_ = job.id = registry::make_job_id(job.owner, "virtual");
    job.dataset_root = dataset_root_;
    job.terms = terms();
    job.budget_wei = Amount(std::numeric_limits<std::int64_t>::max());
    must(test_database_.owner().transact(
        [&](db::Transaction& tx) { return testing::submit_job(tx, job, queue_.now_ms()); }));
    around_->changed();
}

// The nodes.

void VirtualNetwork::add_node(NodeRole role, const OddWorker& factors) {
    Machine machine{make_key(), role};
    machine.up_mbps = settings_.up_mbps * factors.line * spread(settings_.line_spread);
    machine.down_mbps = settings_.down_mbps * factors.line * spread(settings_.line_spread);
    machine.steps_per_second =
        settings_.steps / settings_.unit_seconds * factors.speed * spread(settings_.speed_spread);
    const auto node = std::make_shared<VirtualNode>(*around_, std::move(machine));
    nodes_.push_back(node);
    node->join();
    schedule_leave(node);
}

void VirtualNetwork::schedule_leave(const std::shared_ptr<VirtualNode>& node) {
    if (settings_.leaving_per_hour <= 0) return;
    const bool silent = random() <= settings_.silent_share;
    queue_.after(wait_of_rate(settings_.leaving_per_hour), [this, node, silent] {
        node->leave(!silent);
        ++left_;
    });
}

void VirtualNetwork::schedule_join(NodeRole role, double per_hour) {
    if (per_hour <= 0) return;
    queue_.after(wait_of_rate(per_hour), [this, role, per_hour] {
        add_node(role);
        schedule_join(role, per_hour);
    });
}

void VirtualNetwork::credit_first_workers() {
    const std::uint64_t units = settings_.units_before * settings_.steps;
    const Amount value =
        must(must(protocol::work_value(settings_.flops_per_step(), terms().price_wei_per_pflop))
                 .mul_div(Amount(units), Amount(1)));
    must(test_database_.owner().transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(
            tx.exec("UPDATE registry.node SET valid_value = $1 WHERE role = 'worker'", {value}));
        return {};
    }));
}

// The coordinator's process.

void VirtualNetwork::tick_at(UnixMs when_ms) {
    // On the grid of the coordinator's own ticks.
    const UnixMs step = settings_.tick_ms;
    when_ms = start_ms_ + (when_ms - start_ms_ + step - 1) / step * step;
    if (tick_at_ms_ != 0 && tick_at_ms_ <= when_ms) return;
    tick_at_ms_ = when_ms;
    queue_.at(when_ms, [this, when_ms] {
        if (tick_at_ms_ == when_ms) tick();  // else an earlier one came in between
    });
}

void VirtualNetwork::tick() {
    tick_at_ms_ = 0;
    if (ticking_) return;  // one thread ticks; the tick under way looks again when it is done
    ticking_ = true;
    ++ticks_;
    coordinator::TickSummary summary = must(core_->tick());
    ticking_ = false;
    for (std::string& error : summary.errors)
        if (errors_.size() < kErrorsMax) errors_.push_back(std::move(error));
    if (summary.steps > 0) {
        wake();
        return tick_at(queue_.now_ms() + 1);
    }
    wake();
    tick_at(std::max(next_tick_ms(), queue_.now_ms() + 1));
}

UnixMs VirtualNetwork::next_tick_ms() {
    const UnixMs now_ms = queue_.now_ms();
    const db::Row row = must(test_database_.owner().transact([&](db::Transaction& tx) {
        return tx.exec_one(
            "SELECT (SELECT state FROM registry.round WHERE job_id = $1 ORDER BY state IN "
            "('recorded', 'sealed', 'posted') DESC, round DESC LIMIT 1), (SELECT min(deadline_ms) "
            "FROM registry.unit WHERE job_id = $1 AND ended_at_ms IS NULL AND deadline_ms >= $2)",
            {job_, now_ms});
    }));
    const auto state = row.get<std::optional<std::string>>(0);
    const auto deadline_ms = row.get<std::optional<UnixMs>>(1);
    UnixMs next_ms = now_ms + kIdleTickMs;
    if (!state || *state == "aggregated" || *state == "closed")
        next_ms = now_ms + settings_.tick_ms;  // for workers that are free, or known to be gone
    else if (*state == "recorded" || *state == "sealed" || *state == "posted")
        next_ms = chain_.next_block_ms();
    return deadline_ms ? std::min(next_ms, *deadline_ms + 1) : next_ms;
}

/// TaskWatch's part: nodes with something to do that wait for an answer.
void VirtualNetwork::wake() {
    std::vector<Address> with_tasks = must(core_->nodes_with_tasks());
    std::ranges::sort(with_tasks);
    if (with_tasks.empty()) return;
    std::map<Address, VirtualNode*> idle;
    for (const auto& node : nodes_)
        if (node->idle()) idle.emplace(node->address(), node.get());
    std::vector<Address> asking;
    std::vector<Digest> computed;
    for (const Address& address : with_tasks) {
        const auto node = idle.find(address);
        if (node == idle.end()) continue;
        asking.push_back(address);
        std::ranges::copy(node->second->computed(), std::back_inserter(computed));
    }
    if (asking.empty()) return;
    auto tasks = core_->next_tasks(asking, computed);
    for (std::size_t i = 0; i < asking.size(); ++i)
        if (const auto task = must(std::move(tasks[i]))) idle.at(asking[i])->give(*task);
}

/// All heartbeats of an interval, as one batch.
void VirtualNetwork::beat() {
    std::vector<coordinator::Beat> beats;
    for (const auto& node : nodes_)
        if (node->present()) beats.push_back({node->address(), queue_.now_ms(), std::nullopt});
    for (const auto& answer : core_->heartbeats(beats))
        must(answer);
    queue_.after(settings_.heartbeat_ms, [this] { beat(); });
}

/// What was committed before is announced already: TaskWatch does not wait for the tick's end.
void VirtualNetwork::spend(double seconds) {
    wake();
    queue_.run_until(queue_.now_ms() + static_cast<std::int64_t>(std::llround(seconds * 1e3)));
}

Figures VirtualNetwork::run() {
    for (std::uint32_t i = 0; i < settings_.workers; ++i)
        add_node(NodeRole::kWorker);
    for (std::uint32_t i = 0; i < settings_.verifiers; ++i)
        add_node(NodeRole::kVerifier);
    if (settings_.units_before > 0) credit_first_workers();
    for (const OddWorker& factors : settings_.odd_workers) {
        add_node(NodeRole::kWorker, factors);
        odd_workers_.push_back(nodes_.back()->address());
    }
    schedule_join(NodeRole::kWorker, settings_.leaving_per_hour * settings_.workers);
    schedule_join(NodeRole::kVerifier, settings_.leaving_per_hour * settings_.verifiers);
    beat();
    submit_job();
    queue_.run_until(start_ms_ + static_cast<std::int64_t>(settings_.hours * kHourMs));
    return figures();
}

}  // namespace gym::sim
