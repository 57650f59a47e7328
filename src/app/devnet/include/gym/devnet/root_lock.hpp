#pragma once

#include <filesystem>
#include <string>

#include "gym/common/file_lock.hpp"
#include "gym/common/result.hpp"

namespace gym::devnet {

/// One command at a time starts, uses up or removes the network in a root: `demo` holds this for
/// its whole run, `up` and `down` while they change things.
class RootLock {
  public:
    /// Makes the folder if it is not there.
    /// @param command who holds it, for those who are refused.
    /// @param way_out what to do, for the error message.
    /// @errors kConflict naming process and command of the holder, or a file in `root` that is no
    /// part of a network; kIo.
    static Result<RootLock> acquire(const std::filesystem::path& root, const std::string& command,
                                    const std::string& way_out);
    /// Takes the lock's file away, and the folder too if nothing else is left in it. For the end of
    /// a command that removed the network.
    void remove();

  private:
    RootLock(std::filesystem::path root, FileLock lock)
        : root_(std::move(root)), lock_(std::move(lock)) {}
    std::filesystem::path root_;
    FileLock lock_;
};

}  // namespace gym::devnet
