#include "gym/devnet/root_lock.hpp"

#include <unistd.h>

#include "gym/devnet/layout.hpp"

namespace gym::devnet {

Result<RootLock> RootLock::acquire(const std::filesystem::path& root, const std::string& command,
                                   const std::string& way_out) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(root, error).lexically_normal();
    const auto file = absolute / kLockFile;
    // Nothing is written into a folder of somebody else; one with a lock is a network's, and while
    // it is held its files are not to be judged.
    if (!std::filesystem::exists(file, error)) {
        const Status prepared = prepare_root(absolute);
        // Another may have come in between, whose files are no foreign ones.
        if (!prepared.ok() && !std::filesystem::exists(file, error)) return prepared.error();
    }
    auto lock =
        FileLock::acquire(file, "process " + std::to_string(::getpid()) + " (" + command + ")");
    if (lock.ok()) return RootLock(absolute, std::move(*lock));
    if (lock.error().code != ErrorCode::kConflict) return lock.error();
    const std::string holder = FileLock::holder_of(file);
    return fail(ErrorCode::kConflict, absolute.string() + " is in use by " +
                                          (holder.empty() ? "another process" : holder) + ": " +
                                          way_out);
}

void RootLock::remove() {
    std::error_code ignored;  // what stays is an empty folder, which the next network takes
    std::filesystem::remove(root_ / kLockFile, ignored);
    std::filesystem::remove(root_, ignored);
}

}  // namespace gym::devnet
