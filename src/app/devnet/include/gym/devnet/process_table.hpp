#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/common/subprocess.hpp"

namespace gym::devnet {

struct ProcessEntry {
    std::string name;
    pid_t pid = -1;
    bool running = false;
};

/// The processes of one development network, each known by a file NAME.pid in `folder` that holds
/// the process id and the kernel's start time of it. A recycled id is therefore never signalled.
/// The processes outlive the program that started them. Not thread-safe; one user per folder at a
/// time.
class ProcessTable {
  public:
    explicit ProcessTable(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// Starts a process detached from this one and records it.
    /// @errors kAlreadyExists if `name` runs, and as Subprocess::start.
    Status start(const std::string& name, SubprocessOptions options);
    /// Records a process that was started otherwise (anvil).
    Status adopt(const std::string& name, pid_t pid);
    /// @errors as stop_process(). Success when it does not run.
    Status stop(const std::string& name, int grace_ms = 10'000);
    /// Sorted by name. @errors kIo.
    [[nodiscard]] Result<std::vector<ProcessEntry>> list() const;
    /// @errors kNotFound when nothing of that name was recorded.
    [[nodiscard]] Result<ProcessEntry> find(const std::string& name) const;

  private:
    [[nodiscard]] std::filesystem::path file_of(const std::string& name) const;
    std::filesystem::path folder_;
};

}  // namespace gym::devnet
