#pragma once

#include <memory>

#include "gym/db/database.hpp"

namespace CLI {
class App;
}

namespace gym::app {

/// A database that a command works on directly.
struct DatabaseOptions {
    db::ConnectionConfig connection;

    /// --host, --port, --database, --user, each also from psql's environment variable.
    void add_to(CLI::App& command);
    /// The password is PGPASSWORD or GYM_DB_PASSWORD. Statements may take as long as they need.
    /// @errors as db::Database::open.
    [[nodiscard]] Result<std::unique_ptr<db::Database>> open(const char* application) const;
};

}  // namespace gym::app
