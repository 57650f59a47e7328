#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>

#include "gym/common/result.hpp"

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// How long a service may take to stop. Below TimeoutStopSec of deploy/systemd, so that the log
/// says why the process ended.
inline constexpr std::chrono::milliseconds kStopTimeout{50'000};

struct ServiceOptions {
    std::string name;  ///< in every log line
    std::string log_level = "info";
    std::chrono::milliseconds stop_timeout = kStopTimeout;
};

/// Runs a service: sets up the log, then calls `serve`, whose token SIGTERM and SIGINT request.
/// `serve` then refuses new work, ends or saves the work in progress, and returns. The process
/// exits with ExitCode::kCancelled if that takes longer than `stop_timeout`, or on a second signal;
/// no state is lost then that a crash would not lose.
/// Call before other threads start: the signals are blocked in every thread that starts later.
/// @errors kInvalidArgument for the log level; the errors of `serve`.
[[nodiscard]] Status run_service(const ServiceOptions& options,
                                 const std::function<Status(const std::stop_token& stop)>& serve);

/// Logs that the service can be used from now on. @param detail what it does, and where.
void log_ready(const std::string& detail);

/// Writes the port for programs that started the service with port 0. An empty path writes nothing.
[[nodiscard]] Status write_port_file(const std::string& path, int port);

/// A program that is one service, as its main() describes it.
struct ServiceProgram {
    const char* name;
    const char* description;
    std::function<void(CLI::App& command_line, CliContext& context)> add_options;
    /// Called unless a subcommand ran; usually reads the configuration and calls run_service().
    std::function<Status(const CliContext& context)> start;
};

/// The body of main(). @return the exit code (ExitCode).
[[nodiscard]] int service_main(const ServiceProgram& program, int argc, char** argv);

/// --config FILE. @param example the file in deploy/config that documents the keys.
void add_config_option(CLI::App& command_line, std::string& path, const std::string& example);

}  // namespace gym::app
