#include "service_main.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <thread>

#include "cli/cli_context.hpp"
#include "cli/program_main.hpp"
#include "gym/common/assert.hpp"
#include "gym/common/file.hpp"
#include "gym/common/log.hpp"

namespace gym::app {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_of(SteadyClock::duration time) {
    return std::chrono::duration<double>(time).count();
}

/// Requests a stop when SIGTERM or SIGINT arrives, and ends the process if the stop takes too long
/// or a second signal arrives. One at a time.
class StopSignals {
  public:
    explicit StopSignals(std::chrono::milliseconds timeout) : timeout_(timeout) {
        sigemptyset(&signals_);
        sigaddset(&signals_, SIGTERM);
        sigaddset(&signals_, SIGINT);
        pthread_sigmask(SIG_BLOCK, &signals_, &mask_before_);
        arrived_ = ::signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK);
        done_ = ::eventfd(0, EFD_CLOEXEC);
        GYM_ASSERT(arrived_ >= 0 && done_ >= 0, "no file descriptor left to watch for signals");
        thread_ = std::thread([this] { watch(); });
    }
    ~StopSignals() {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(done_, &one, sizeof one);
        thread_.join();
        while (take_signal() != 0) {
            // The stop is complete: a signal that arrived meanwhile has nothing left to end.
        }
        ::close(arrived_);
        ::close(done_);
        pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    }
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

  private:
    void watch() {
        std::optional<SteadyClock::time_point> deadline;
        while (true) {
            std::array<pollfd, 2> files{pollfd{arrived_, POLLIN, 0}, pollfd{done_, POLLIN, 0}};
            const int count = ::poll(files.data(), files.size(), milliseconds_until(deadline));
            if (files[1].revents != 0) return;
            if (count == 0)
                exit_now("not stopped within " + std::to_string(timeout_.count()) + " ms");
            const int number = take_signal();
            if (number == 0) continue;
            if (deadline) exit_now("received " + name_of(number) + " again");
            deadline = SteadyClock::now() + timeout_;
            spdlog::info("stopping: received {}, waiting at most {} s for work in progress",
                         name_of(number), seconds_of(timeout_));
            stop_.request_stop();
        }
    }

    static int milliseconds_until(const std::optional<SteadyClock::time_point>& deadline) {
        if (!deadline) return -1;
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(*deadline - SteadyClock::now());
        return static_cast<int>(
            std::clamp<std::int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
    }

    /// The number of a signal that arrived, or 0.
    [[nodiscard]] int take_signal() const {
        signalfd_siginfo info{};
        return ::read(arrived_, &info, sizeof info) == sizeof info
                   ? static_cast<int>(info.ssi_signo)
                   : 0;
    }

    static std::string name_of(int number) { return number == SIGINT ? "SIGINT" : "SIGTERM"; }

    /// Without destructors: the threads that do not end are still using what these destroy.
    [[noreturn]] static void exit_now(const std::string& reason) {
        spdlog::error("{}: exiting without waiting for the work in progress", reason);
        (void)std::fflush(nullptr);
        std::_Exit(static_cast<int>(ExitCode::kCancelled));
    }

    std::chrono::milliseconds timeout_;
    sigset_t signals_{};
    sigset_t mask_before_{};
    int arrived_ = -1;  ///< signalfd
    int done_ = -1;     ///< eventfd: the service has stopped
    std::stop_source stop_;
    std::thread thread_;
};

}  // namespace

Status run_service(const ServiceOptions& options,
                   const std::function<Status(const std::stop_token& stop)>& serve) {
    GYM_CHECK(init_logging({options.name, options.log_level, ""}));
    const StopSignals signals(options.stop_timeout);
    const auto begin = SteadyClock::now();
    GYM_CHECK(serve(signals.token()));
    spdlog::info("stopped; ran for {:.1f} s", seconds_of(SteadyClock::now() - begin));
    return {};
}

void log_ready(const std::string& detail) {
    spdlog::info("ready: {} (version {}, process {})", detail, GYM_VERSION, ::getpid());
}

Status write_port_file(const std::string& path, int port) {
    if (path.empty()) return {};
    return write_file_atomic(path, as_bytes(std::to_string(port) + "\n"));
}

int service_main(const ServiceProgram& program, int argc, char** argv) {
    return program_main(program.name, [&] {
        CliContext context{.program = program.name};
        CLI::App command_line{program.description, program.name};
        command_line.footer(kExitCodesHelp);
        command_line.fallthrough();
        program.add_options(command_line, context);
        if (const auto code = parse_command_line(command_line, argc, argv)) return *code;
        if (command_line.get_subcommands().empty()) context.finish(program.start(context));
        return static_cast<int>(context.exit_code);
    });
}

void add_config_option(CLI::App& command_line, std::string& path, const std::string& example) {
    command_line
        .add_option("--config", path,
                    "Configuration file (deploy/config/" + example + " explains every key)")
        ->required()
        ->check(CLI::ExistingFile);
}

}  // namespace gym::app
