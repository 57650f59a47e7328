#pragma once

#include <memory>
#include <string>

#include "gym/db/database.hpp"
#include "gym/db/private_cluster.hpp"

namespace gym::testing {

/// This test program's PostgreSQL: started on first use in a folder of its own below the system's
/// temporary folder, stopped and removed at exit. Committed data survives restart(kImmediate).
db::PrivateCluster& postgres();

/// The folder sql/migrations of the source tree.
std::string migrations_folder();

/// A fresh database with all migrations applied (a copy of a template that is migrated once per
/// program); dropped by the destructor. Failures abort: a test cannot go on without its database.
class TestDatabase {
  public:
    TestDatabase();
    ~TestDatabase();
    TestDatabase(const TestDatabase&) = delete;
    TestDatabase& operator=(const TestDatabase&) = delete;

    /// As the superuser, who owns everything.
    db::Database& owner() { return *owner_; }
    /// As a login role that is a member of one group role ("gym_rewards", "gym_coordinator",
    /// "gym_api", "gym_auditor", "gym_evaluator").
    std::unique_ptr<db::Database> as(const std::string& group, int connections_max = 8);

    /// Connection settings, for programs under test.
    [[nodiscard]] db::ConnectionConfig owner_config() const;
    [[nodiscard]] db::ConnectionConfig config_as(const std::string& group) const;

  private:
    std::string name_;
    std::unique_ptr<db::Database> owner_;
};

}  // namespace gym::testing
