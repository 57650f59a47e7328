#include "metrics.hpp"

#include <fmt/format.h>

#include <iterator>

namespace gym::api {
namespace {

class Page {
  public:
    void family(const char* name, const char* type, const char* help) {
        fmt::format_to(std::back_inserter(text_), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help,
                       type);
    }
    template <class T>
    void sample(const char* name, const std::string& labels, const T& value) {
        fmt::format_to(std::back_inserter(text_), "{}{} {}\n", name,
                       labels.empty() ? "" : "{" + labels + "}", value);
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

  private:
    std::string text_;
};

void network_gauges(Page& page, const Gauges& gauges) {
    page.family("gym_jobs", "gauge", "Jobs by status.");
    for (const auto& [status, count] : gauges.jobs)
        page.sample("gym_jobs", fmt::format("status=\"{}\"", status), count);
    page.family("gym_units", "gauge", "Train units by state.");
    for (const auto& [state, count] : gauges.units)
        page.sample("gym_units", fmt::format("state=\"{}\"", state), count);
    page.family("gym_nodes_live", "gauge", "Nodes that were seen lately.");
    page.sample("gym_nodes_live", "role=\"worker\"", gauges.workers_live);
    page.sample("gym_nodes_live", "role=\"verifier\"", gauges.verifiers_live);
    page.family("gym_nodes_excluded", "gauge", "Nodes excluded for a proven fault.");
    page.sample("gym_nodes_excluded", "", gauges.nodes_excluded);
    page.family("gym_blobs_refused_total", "counter",
                "Private blobs refused to nodes that hold no task that needs them.");
    page.sample("gym_blobs_refused_total", "", gauges.blobs_refused);
    page.family("gym_rounds", "gauge", "Rounds by state.");
    for (const auto& [state, count] : gauges.rounds)
        page.sample("gym_rounds", fmt::format("state=\"{}\"", state), count);
    page.family("gym_round_open_seconds", "gauge",
                "Age of the oldest round of a running job that is not aggregated.");
    page.sample("gym_round_open_seconds", "", gauges.round_open_s);
}

void money_gauges(Page& page, const Gauges& gauges) {
    page.family("gym_unit_events_waiting", "gauge", "Unit events that gym-rewards has not booked.");
    page.sample("gym_unit_events_waiting", "", gauges.unit_events_waiting);
    page.family("gym_payout_epoch", "gauge", "The newest payout epoch that was closed.");
    page.sample("gym_payout_epoch", "", gauges.payout_epoch);
    page.family("gym_payout_under_way_seconds", "gauge",
                "Age of a closed epoch whose root is not on chain; 0 if there is none.");
    page.sample("gym_payout_under_way_seconds", "", gauges.payout_under_way_s);
    page.family("gym_payout_problem", "gauge", "1 while the chain refuses a step of a payout.");
    page.sample("gym_payout_problem", "", gauges.payout_problem ? 1 : 0);
    page.family("gym_books_equal", "gauge", "1 if the contracts' balances equal the ledger's.");
    if (gauges.books_equal) page.sample("gym_books_equal", "", *gauges.books_equal ? 1 : 0);
}

void chain_gauges(Page& page, const Gauges& gauges) {
    const auto by_service = [&](const char* name, const char* help, const auto& values) {
        page.family(name, "gauge", help);
        for (const auto& [service, value] : values)
            page.sample(name, fmt::format("service=\"{}\"", service), value);
    };
    by_service("gym_transactions_open", "Transactions that are not final.",
               gauges.transactions_open);
    by_service("gym_transaction_oldest_seconds", "Age of the oldest transaction not final.",
               gauges.transaction_oldest_s);
    by_service("gym_chain_finalized_block", "The last final block that was read.",
               gauges.finalized_block);
}

}  // namespace

void Metrics::request(const std::string& operation, unsigned status, double seconds) {
    const std::lock_guard lock(mutex_);
    ++requests_[{operation, status}];
    Latency& latency = latency_[operation];
    ++latency.count;
    latency.sum_seconds += seconds;
    for (std::size_t i = 0; i < kBucketSeconds.size(); ++i)
        if (seconds <= kBucketSeconds[i]) ++latency.buckets[i];
}

std::string Metrics::text(const Gauges* gauges) const {
    Page page;
    page.family("gym_api_database_up", "gauge", "1 while PostgreSQL answers.");
    page.sample("gym_api_database_up", "", gauges == nullptr ? 0 : 1);
    page.family("gym_api_connections", "gauge", "Open connections.");
    page.sample("gym_api_connections", "", connections_.load());
    if (gauges != nullptr) {
        network_gauges(page, *gauges);
        money_gauges(page, *gauges);
        chain_gauges(page, *gauges);
    }

    const std::lock_guard lock(mutex_);
    page.family("gym_api_requests_total", "counter", "Requests by operation and HTTP status.");
    for (const auto& [key, count] : requests_)
        page.sample("gym_api_requests_total",
                    fmt::format("operation=\"{}\",status=\"{}\"", key.first, key.second), count);
    const char* const histogram = "gym_api_request_seconds";
    page.family(histogram, "histogram", "Time to answer by operation.");
    for (const auto& [operation, latency] : latency_) {
        const std::string label = fmt::format("operation=\"{}\"", operation);
        for (std::size_t i = 0; i < kBucketSeconds.size(); ++i)
            page.sample("gym_api_request_seconds_bucket",
                        fmt::format("{},le=\"{}\"", label, kBucketSeconds[i]), latency.buckets[i]);
        page.sample("gym_api_request_seconds_bucket", label + ",le=\"+Inf\"", latency.count);
        page.sample("gym_api_request_seconds_sum", label, latency.sum_seconds);
        page.sample("gym_api_request_seconds_count", label, latency.count);
    }
    return page.take();
}

}  // namespace gym::api
