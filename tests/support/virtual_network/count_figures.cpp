// Figures of a history: from the nodes' own sums, and from what the coordinator wrote.
#include <algorithm>

#include "gym/registry/rounds.hpp"
#include "must.hpp"
#include "virtual_network.hpp"

namespace gym::sim {
namespace {

using testing::must;

/// Means of spans of time, in seconds.
class Mean {
  public:
    void add(UnixMs from_ms, UnixMs to_ms) {
        sum_ms_ += static_cast<double>(to_ms - from_ms);
        ++count_;
    }
    [[nodiscard]] double seconds() const { return count_ == 0 ? 0 : sum_ms_ / count_ / 1e3; }

  private:
    double sum_ms_ = 0;
    int count_ = 0;
};

/// Time that is in any of several spans, which begin in ascending order.
class Cover {
  public:
    void add(UnixMs from_ms, UnixMs to_ms) {
        from_ms = std::max(from_ms, until_ms_);
        if (to_ms <= from_ms) return;
        sum_ms_ += static_cast<double>(to_ms - from_ms);
        until_ms_ = to_ms;
    }
    [[nodiscard]] double ms() const { return sum_ms_; }

  private:
    UnixMs until_ms_ = 0;
    double sum_ms_ = 0;
};

}  // namespace

void VirtualNetwork::count_nodes(Figures& out) const {
    double possible = 0, present_ms = 0, computing_ms = 0, received = 0, sent = 0;
    std::uint64_t delivered = 0;
    for (const auto& node : nodes_) {
        if (node->machine().role != records::NodeRole::kWorker) continue;
        const NodeTotals totals = node->totals();
        possible += totals.present_ms / 1e3 * node->machine().steps_per_second *
                    static_cast<double>(settings_.tokens_per_step);
        present_ms += totals.present_ms;
        computing_ms += totals.computing_ms;
        delivered += totals.done;
        received += static_cast<double>(totals.received_bytes);
        sent += static_cast<double>(totals.sent_bytes);
    }
    out.nodes_joined = nodes_.size();
    out.nodes_left = left_;
    out.efficiency = out.tokens / possible;
    out.utilisation = computing_ms / present_ms;
    out.workers_mean = present_ms / (out.hours * 3.6e6);
    if (delivered > 0) {
        out.received_bytes = received / static_cast<double>(delivered);
        out.sent_bytes = sent / static_cast<double>(delivered);
    }
}

void VirtualNetwork::count_units(Figures& out) {
    const db::Row row = must(test_database_.owner().transact([&](db::Transaction& tx) {
        return tx.exec_one(
            "SELECT count(*), count(*) FILTER (WHERE included), count(*) FILTER (WHERE "
            "included_late), count(*) FILTER (WHERE state = 'expired'), count(*) FILTER (WHERE "
            "state = 'unpaid'), count(*) FILTER (WHERE draws > 0), coalesce(sum(tokens) FILTER "
            "(WHERE included), 0)::bigint FROM registry.unit WHERE job_id = $1 AND kind = 'train'",
            {job_});
    }));
    out.units = row.get<std::uint64_t>(0);
    out.units_included = row.get<std::uint64_t>(1);
    out.units_late = row.get<std::uint64_t>(2);
    out.units_expired = row.get<std::uint64_t>(3);
    out.units_unpaid = row.get<std::uint64_t>(4);
    out.units_drawn = row.get<std::uint64_t>(5);
    out.tokens = static_cast<double>(row.get<std::uint64_t>(6));
}

void VirtualNetwork::count_odd_workers(Figures& out) {
    for (const Address& worker : odd_workers_) {
        const db::Row row = must(test_database_.owner().transact([&](db::Transaction& tx) {
            return tx.exec_one(
                "SELECT coalesce(sum(tokens), 0)::bigint FROM registry.unit WHERE worker = $1 AND "
                "included",
                {worker});
        }));
        out.odd_tokens.push_back(row.get<std::uint64_t>(0));
    }
}

void VirtualNetwork::count_rounds(Figures& out) {
    const auto rounds = must(
        database_->transact([&](db::Transaction& tx) { return registry::list_rounds(tx, job_); }));
    const UnixMs end_ms = queue_.now_ms();
    Cover in_progress, open;
    Mean length, record, training, sample;
    for (std::size_t i = 0; i < rounds.size(); ++i) {
        const registry::Round& round = rounds[i];
        in_progress.add(round.recorded_at_ms, round.aggregated_at_ms.value_or(end_ms));
        if (i > 0) length.add(rounds[i - 1].recorded_at_ms, round.recorded_at_ms);
        if (!round.opened_at_ms) continue;
        open.add(*round.opened_at_ms, round.sealed_at_ms.value_or(end_ms));
        record.add(round.recorded_at_ms, *round.opened_at_ms);
        if (!round.sealed_at_ms) continue;
        training.add(*round.opened_at_ms, *round.sealed_at_ms);
        // Whose record names the aggregate of its deltas.
        const std::size_t naming = i + settings_.elasticity().overlap;
        if (naming >= rounds.size() || !rounds[naming].aggregated_at_ms) continue;
        ++out.rounds;
        sample.add(*round.sealed_at_ms, *rounds[naming].aggregated_at_ms);
    }
    const double all_ms = out.hours * 3.6e6;
    out.round_in_progress = in_progress.ms() / all_ms;
    out.round_open = open.ms() / all_ms;
    out.round_s = length.seconds();
    out.record_s = record.seconds();
    out.open_s = training.seconds();
    out.sample_s = sample.seconds();
}

Figures VirtualNetwork::figures() {
    Figures out;
    out.hours = static_cast<double>(queue_.now_ms() - start_ms_) / 3.6e6;
    count_units(out);
    count_odd_workers(out);
    count_nodes(out);
    count_rounds(out);
    out.ticks = ticks_;
    out.events = queue_.events_run();
    out.errors = errors_;
    return out;
}

}  // namespace gym::sim
