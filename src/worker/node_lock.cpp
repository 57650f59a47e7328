#include "gym/worker/node_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "gym/common/file.hpp"

namespace gym::worker {
namespace {

constexpr std::uint64_t kPidBytesMax = 64;

Error system_error(const std::filesystem::path& path) {
    return fail(ErrorCode::kIo, "cannot lock " + path.string() + ": " + std::strerror(errno) +
                                    " (a node writes to its data directory)");
}

Result<int> lock_file(const std::filesystem::path& path, int flags, const std::string& conflict) {
    const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
    if (file < 0) return system_error(path);
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) return file;
    const bool held = errno == EWOULDBLOCK;
    const Error error = held ? fail(ErrorCode::kConflict, conflict) : system_error(path);
    ::close(file);
    return error;
}

/// " (process 123)" from a lock file that its holder wrote its id into.
std::string holder(const std::filesystem::path& path) {
    const auto content = read_file(path, kPidBytesMax);
    if (!content.ok() || content->empty()) return "";
    return " (process " + std::string(content->begin(), content->end()) + ")";
}

}  // namespace

Result<NodeLock> NodeLock::acquire(const NodeConfig& config) {
    NodeLock lock;
    const std::filesystem::path path = config.data_dir / "lock";
    GYM_TRY(const int folder,
            lock_file(path, O_RDWR | O_CREAT,
                      "another node" + holder(path) + " works in " + config.data_dir.string() +
                          ": stop it first, or give this one a --data-dir and a key of its own"));
    lock.files_.push_back(folder);
    const std::string pid = std::to_string(::getpid());
    if (::ftruncate(folder, 0) != 0 ||
        ::pwrite(folder, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size()))
        return system_error(path);
    // The key too: it may be shared by several data directories.
    GYM_TRY(const int key,
            lock_file(config.keystore_path(), O_RDONLY,
                      "another node uses the key " + config.keystore_path().string() +
                          ": two that sign with one key would be punished for contradicting each "
                          "other; register a key of its own for each"));
    lock.files_.push_back(key);
    return lock;
}

NodeLock::~NodeLock() {
    for (const int file : files_)
        ::close(file);
}

}  // namespace gym::worker
