#pragma once

#include <mutex>
#include <string>
#include <thread>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"

namespace gym::app {

/// Tells the database every few seconds how a service is, so that gym-api's /healthz can name it. A
/// database that cannot be written is not reported: then gym-api reports it. Thread-safe.
class HealthReport {
  public:
    /// Begins with registry::kStartingProblem. References must outlive the report.
    HealthReport(db::Database& database, const Clock& clock, std::string service);
    ~HealthReport();
    HealthReport(const HealthReport&) = delete;
    HealthReport& operator=(const HealthReport&) = delete;

    /// How the service is from now on; the kind of the error alone is told. Writes at once where
    /// that is something new.
    void set(const Status& status);

  private:
    void run(const std::stop_token& stop);
    void write(const std::string& problem);

    db::Database& database_;
    const Clock& clock_;
    const std::string service_;
    std::mutex mutex_;
    std::string problem_;
    std::jthread thread_;  // last: it uses everything above
};

}  // namespace gym::app
