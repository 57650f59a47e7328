#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "gym/common/result.hpp"
#include "gym/db/config.hpp"

namespace gym::db {

/// Durability: which failures the data survives.
enum class Durability {
    kFull,          ///< fsync: committed data survives a power loss
    kProcessCrash,  ///< no fsync: committed data survives a crash of PostgreSQL (kill -9), not of
                    ///< the machine
};

struct ClusterOptions {
    std::filesystem::path
        folder;  ///< holds data/, the socket, server.log and the superuser's password
    Durability durability = Durability::kFull;
    std::uint16_t tcp_port = 0;  ///< 0: Unix socket only; else also loopback TCP on this port
    int connections_max = 100;
    /// The server stops (as after a crash) when the thread that started it dies: for tests.
    /// Otherwise it outlives its starter, and `stop()` of any process that opens the same folder
    /// stops it by its pid.
    bool die_with_parent = false;
    std::chrono::milliseconds start_timeout{60'000};
};

enum class StopMode {
    kFast,       ///< rolls back open transactions, writes a checkpoint
    kImmediate,  ///< as a crash: the next start recovers from the log
};

/// A PostgreSQL cluster of one's own in a folder: initdb on first use, superuser "postgres" with a
/// random password (SCRAM), reachable through a Unix socket in the folder. As root the server runs
/// as the system user postgres, which owns data/. The destructor leaves the server running: stop()
/// it. Not thread-safe.
class PrivateCluster {
  public:
    /// Prepares the folder (initdb if it holds no cluster). Starts nothing.
    /// @errors kNotFound without PostgreSQL's programs (searched in GYM_PG_BINDIR,
    /// /usr/lib/postgresql/*/bin, PATH), kPermissionDenied if the user postgres cannot reach the
    /// folder, kInternal with initdb's output.
    static Result<PrivateCluster> prepare(ClusterOptions options);

    /// Starts the server and waits until it accepts connections; does nothing if it runs already.
    /// @errors kTimeout, kInternal with the end of server.log.
    Status start();
    /// Stops the server by the pid in its lock file and waits for its end; does nothing if it does
    /// not run.
    Status stop(StopMode mode = StopMode::kFast);
    Status restart(StopMode mode = StopMode::kFast);

    /// The postmaster's process id while it runs.
    [[nodiscard]] std::optional<pid_t> pid() const;
    /// Superuser access to `database`.
    [[nodiscard]] ConnectionConfig superuser(const std::string& database = "postgres") const;
    /// Creates an empty database owned by the superuser; kAlreadyExists if it is there.
    Status create_database(const std::string& name, const std::string& template_name = "template0");
    Status drop_database(const std::string& name);
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return options_.folder; }

  private:
    PrivateCluster(ClusterOptions options, std::filesystem::path bin, std::string password);
    ClusterOptions options_;
    std::filesystem::path bin_;
    std::filesystem::path socket_folder_;
    std::string password_;
};

}  // namespace gym::db
