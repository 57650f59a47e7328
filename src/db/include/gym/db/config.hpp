#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "gym/common/result.hpp"
#include "gym/common/yaml.hpp"

namespace gym::db {

/// Address of a PostgreSQL database and the user. The password comes from a file or the environment
/// variable GYM_DB_PASSWORD, never from a command line; it is never logged and never part of an
/// error message.
struct ConnectionConfig {
    std::string host = "127.0.0.1";  ///< name, address, or the folder of a Unix socket ("/...")
    std::uint16_t port = 5432;
    std::string database = "gym";
    std::string user = "gym";
    std::string password;
    std::string application_name = "gym";  ///< shown in pg_stat_activity
    std::chrono::milliseconds connect_timeout{5'000};
    std::chrono::milliseconds statement_timeout{60'000};  ///< 0: none
    std::chrono::milliseconds lock_timeout{10'000};       ///< 0: none

    /// Reads the keys host, port, database, user, password_file (one line), connect_timeout_ms,
    /// statement_timeout_ms and lock_timeout_ms of `map` and calls its finish(). An absent key
    /// leaves what `defaults` says.
    /// @errors kInvalidArgument, kIo or kNotFound for the password file.
    static Result<ConnectionConfig> from_yaml(YamlMap map, ConnectionConfig defaults);
    static Result<ConnectionConfig> from_yaml(YamlMap map);

    /// "user@host:port/database", for log lines.
    [[nodiscard]] std::string describe() const;
};

}  // namespace gym::db
