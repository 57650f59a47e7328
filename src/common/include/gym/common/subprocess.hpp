#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "gym/common/result.hpp"

namespace gym {

struct SubprocessOptions {
    std::vector<std::string> argv;                         ///< argv[0] is looked up in PATH
    std::vector<std::pair<std::string, std::string>> env;  ///< added to the parent's environment
    std::filesystem::path log_file;  ///< stdout and stderr are appended here; empty: inherited
    std::filesystem::path folder;    ///< working folder; empty: inherited
    int input = -1;   ///< descriptor for its stdin, which stays the caller's; -1: /dev/null
    int output = -1;  ///< descriptor for its stdout, likewise; -1: as log_file says
    bool die_with_parent = true;  ///< SIGKILL from the kernel when the parent thread ends
    /// false: without the passwords and keys of the parent's environment, for a program that reads
    /// strangers' files.
    bool with_secrets = true;
};

/// One child process, known by its id. The destructor stops a child that was not released. Not
/// thread-safe.
class Subprocess {
  public:
    /// @errors kNotFound when the program does not exist, kIo for the operating system's refusals.
    static Result<Subprocess> start(const SubprocessOptions& options);

    Subprocess(Subprocess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
    Subprocess& operator=(Subprocess&& other) noexcept;
    Subprocess(const Subprocess&) = delete;
    Subprocess& operator=(const Subprocess&) = delete;
    ~Subprocess();

    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] bool running();
    /// The exit code, or 128 + the signal that ended it. @errors kTimeout.
    Result<int> wait(int timeout_ms);
    /// SIGTERM, then SIGKILL after `grace_ms`. Success also when it had ended already.
    Status stop(int grace_ms = 10'000);
    void signal(int number) const;
    /// Leaves the child running beyond this object and returns its id.
    pid_t release() { return std::exchange(pid_, -1); }

  private:
    explicit Subprocess(pid_t pid) : pid_(pid) {}
    pid_t pid_ = -1;
    int exit_code_ = -1;
};

/// Stops a process that another program run started, by its id: SIGTERM, then SIGKILL after
/// `grace_ms`. Success when it has ended: a child of the caller is reaped, a zombie of another
/// process counts. @errors kTimeout, kPermissionDenied.
Status stop_process(pid_t pid, int grace_ms = 10'000);

/// Runs a command to its end. @return its standard output and error output. @errors kInternal with
/// the end of the output for a non-zero exit code, kTimeout, kNotFound.
Result<std::string> run_command(const SubprocessOptions& options, int timeout_ms);

}  // namespace gym
