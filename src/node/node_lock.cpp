#include "gym/node/node_lock.hpp"

#include <unistd.h>

#include <string>

namespace gym::node {
namespace {

std::filesystem::path lock_file(const NodeConfig& config) {
    return config.data_dir / "lock";
}

/// What `lock` failed with, in the words of a node.
Error refusal(const Result<FileLock>& lock, const std::string& conflict) {
    if (lock.error().code == ErrorCode::kConflict) return fail(ErrorCode::kConflict, conflict);
    Error error = lock.error();
    error.message += " (a node writes to its data directory)";
    return error;
}

}  // namespace

Result<NodeLock> NodeLock::acquire(const NodeConfig& config) {
    const std::filesystem::path path = lock_file(config);
    auto folder = FileLock::acquire(path, "process " + std::to_string(::getpid()));
    if (!folder.ok()) {
        const std::string holder = FileLock::holder_of(path);
        return refusal(folder,
                       "another node" + (holder.empty() ? "" : " (" + holder + ")") + " works in " +
                           config.data_dir.string() +
                           ": stop it first, or give this one a --data-dir and a key of its own");
    }
    // The key too: it may be shared by several data directories.
    auto key = FileLock::acquire_existing(config.keystore_path());
    if (!key.ok())
        return refusal(key, "another node uses the key " + config.keystore_path().string() +
                                ": two that sign with one key would be punished for contradicting "
                                "each other; register a key of its own for each");
    return NodeLock(std::move(*folder), std::move(*key));
}

bool NodeLock::held(const NodeConfig& config) {
    const auto lock = FileLock::acquire_existing(lock_file(config));
    return !lock.ok() && lock.error().code == ErrorCode::kConflict;
}

}  // namespace gym::node
