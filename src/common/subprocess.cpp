#include "gym/common/subprocess.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

#include "gym/common/file.hpp"
#include "gym/common/process_view.hpp"
#include "gym/common/secret_variables.hpp"
#include "gym/common/temporary_folder.hpp"

namespace gym {
namespace {

constexpr int kPollMs = 10;
constexpr int kExecFailed = 127;
constexpr std::size_t kOutputTailBytes = 2'000;

Error os_error(const std::string& action) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return fail(code, action + ": " + std::strerror(errno));
}

/// The child's data, prepared before fork(): after it only async-signal-safe calls are allowed.
struct ChildPlan {
    std::vector<std::string> env_text;
    std::vector<char*> argv;
    std::vector<char*> envp;
};

/// Whether "NAME=VALUE" of the environment has a password or a key.
bool is_secret(std::string_view entry) {
    return std::ranges::find(kSecretVariables, entry.substr(0, entry.find('='))) !=
           kSecretVariables.end();
}

ChildPlan make_plan(const SubprocessOptions& options) {
    ChildPlan plan;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const auto overridden = [&](const auto& pair) {
            return text.starts_with(pair.first) && text.substr(pair.first.size()).starts_with('=');
        };
        if (!options.with_secrets && is_secret(text)) continue;
        if (std::find_if(options.env.begin(), options.env.end(), overridden) == options.env.end())
            plan.env_text.emplace_back(text);
    }
    for (const auto& [name, value] : options.env)
        plan.env_text.emplace_back(name).append("=").append(value);
    for (std::string& text : plan.env_text)
        plan.envp.push_back(text.data());
    for (const std::string& text : options.argv)
        plan.argv.push_back(const_cast<char*>(text.c_str()));
    plan.envp.push_back(nullptr);
    plan.argv.push_back(nullptr);
    return plan;
}

/// Runs in the child: redirects, then becomes the program. Reports errno through `report` on
/// failure.
[[noreturn]] void become_program(const SubprocessOptions& options, ChildPlan& plan, int log,
                                 int report, pid_t parent) {
    const auto give_up = [&] {
        const int reason = errno;
        [[maybe_unused]] const ssize_t sent = ::write(report, &reason, sizeof reason);
        ::_exit(kExecFailed);
    };
    if (options.die_with_parent) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(kExecFailed);  // the parent ended before the request
    } else {
        ::setsid();
    }
    const int input = options.input >= 0 ? options.input : ::open("/dev/null", O_RDONLY);
    if (input < 0 || ::dup2(input, STDIN_FILENO) < 0) give_up();
    if (log >= 0 && (::dup2(log, STDOUT_FILENO) < 0 || ::dup2(log, STDERR_FILENO) < 0)) give_up();
    if (options.output >= 0 && ::dup2(options.output, STDOUT_FILENO) < 0) give_up();
    if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) give_up();
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvpe(plan.argv[0], plan.argv.data(), plan.envp.data());
    give_up();
    ::_exit(kExecFailed);
}

int code_of(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<Subprocess> Subprocess::start(const SubprocessOptions& options) {
    GYM_ASSERT(!options.argv.empty(), "a subprocess needs a program");
    const std::string what = "cannot start " + options.argv[0];
    ChildPlan plan = make_plan(options);
    int log = -1;
    if (!options.log_file.empty()) {
        log = ::open(options.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (log < 0) return os_error(what + ", log " + options.log_file.string());
    }
    int report[2];
    if (::pipe2(report, O_CLOEXEC) != 0) return os_error(what);
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) become_program(options, plan, log, report[1], parent);
    const int fork_errno = errno;
    if (log >= 0) ::close(log);
    ::close(report[1]);
    int reason = 0;
    const bool failed = pid > 0 && ::read(report[0], &reason, sizeof reason) == sizeof reason;
    ::close(report[0]);
    if (pid < 0 || failed) {
        if (pid > 0) ::waitpid(pid, nullptr, 0);
        errno = pid < 0 ? fork_errno : reason;
        return os_error(what);
    }
    return Subprocess(pid);
}

Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
    if (this != &other) {
        (void)stop();
        pid_ = std::exchange(other.pid_, -1);
        exit_code_ = other.exit_code_;
    }
    return *this;
}

Subprocess::~Subprocess() {
    if (pid_ > 0) (void)stop();
}

bool Subprocess::running() {
    if (pid_ <= 0) return false;
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == 0) return true;
    exit_code_ = code_of(status);
    pid_ = -1;
    return false;
}

Result<int> Subprocess::wait(int timeout_ms) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    while (running()) {
        if (std::chrono::steady_clock::now() >= deadline)
            return fail(ErrorCode::kTimeout, "process " + std::to_string(pid_) +
                                                 " still runs after " + std::to_string(timeout_ms) +
                                                 " ms");
        std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
    }
    return exit_code_;
}

void Subprocess::signal(int number) const {
    if (pid_ > 0) ::kill(pid_, number);
}

Status Subprocess::stop(int grace_ms) {
    if (!running()) return {};
    signal(SIGTERM);
    if (wait(grace_ms).ok()) return {};
    signal(SIGKILL);
    GYM_CHECK(wait(grace_ms));
    return {};
}

Status stop_process(pid_t pid, int grace_ms) {
    GYM_ASSERT(pid > 1, "refusing to signal a process group or init");
    for (const int number : {SIGTERM, SIGKILL}) {
        if (::kill(pid, number) != 0) {
            if (errno == ESRCH) return {};
            return fail(ErrorCode::kPermissionDenied,
                        "cannot stop process " + std::to_string(pid) + ": " + std::strerror(errno));
        }
        for (int waited_ms = 0; waited_ms < grace_ms; waited_ms += kPollMs) {
            if (has_ended(pid)) return {};
            std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
        }
    }
    return fail(ErrorCode::kTimeout, "process " + std::to_string(pid) + " does not end");
}

Result<std::string> run_command(const SubprocessOptions& options, int timeout_ms) {
    GYM_TRY(const TemporaryFolder folder, TemporaryFolder::create("gym-command"));
    SubprocessOptions captured = options;
    captured.log_file = folder / "output";
    GYM_TRY(Subprocess child, Subprocess::start(captured));
    GYM_TRY(const int code, child.wait(timeout_ms));
    GYM_TRY(const Bytes bytes, read_file(captured.log_file));
    std::string output(bytes.begin(), bytes.end());
    if (code == 0) return output;
    const std::size_t skip =
        output.size() > kOutputTailBytes ? output.size() - kOutputTailBytes : 0;
    return fail(ErrorCode::kInternal, options.argv[0] + " ended with code " + std::to_string(code) +
                                          ": " + output.substr(skip));
}

}  // namespace gym
