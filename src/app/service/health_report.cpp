#include "health_report.hpp"

#include <chrono>

#include "gym/common/stop.hpp"
#include "gym/registry/service_health.hpp"

namespace gym::app {
namespace {

constexpr std::chrono::seconds kEvery{5};

}  // namespace

HealthReport::HealthReport(db::Database& database, const Clock& clock, std::string service)
    : database_(database),
      clock_(clock),
      service_(std::move(service)),
      problem_(registry::kStartingProblem) {
    write(problem_);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

HealthReport::~HealthReport() {
    thread_.request_stop();
}

void HealthReport::set(const Status& status) {
    const std::string problem = status.ok() ? "" : std::string(to_string(status.error().code));
    const std::lock_guard lock(mutex_);
    if (problem == problem_) return;
    problem_ = problem;
    write(problem_);
}

void HealthReport::run(const std::stop_token& stop) {
    while (!wait_for_stop(stop, kEvery)) {
        const std::lock_guard lock(mutex_);
        write(problem_);
    }
}

void HealthReport::write(const std::string& problem) {
    (void)database_.transact([&](db::Transaction& tx) {
        return registry::note_health(tx, service_, problem, clock_.now_ms());
    });
}

}  // namespace gym::app
