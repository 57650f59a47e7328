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
    if (gauges != nullptr) network_gauges(page, *gauges);

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
