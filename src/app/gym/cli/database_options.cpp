#include "cli/database_options.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>

namespace gym::app {

void DatabaseOptions::add_to(CLI::App& command) {
    db::ConnectionConfig& to = connection;
    command.add_option("--host", to.host, "Database server, or the folder of its socket")
        ->envname("PGHOST");
    command.add_option("--port", to.port, "Port")->envname("PGPORT");
    command.add_option("--database", to.database, "Database")->envname("PGDATABASE");
    command.add_option("--user", to.user, "Database user")->envname("PGUSER");
}

Result<std::unique_ptr<db::Database>> DatabaseOptions::open(const char* application) const {
    db::ConnectionConfig config = connection;
    config.application_name = application;
    config.statement_timeout = std::chrono::milliseconds(0);  // a large table takes its time
    // Never by a flag: every user of the machine can read the arguments of a process.
    for (const char* name : {"PGPASSWORD", "GYM_DB_PASSWORD"})
        if (const char* value = std::getenv(name)) config.password = value;
    return db::Database::open(config, 1);
}

}  // namespace gym::app
