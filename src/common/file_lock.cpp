#include "gym/common/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "gym/common/file.hpp"

namespace gym {
namespace {

constexpr std::uint64_t kHolderBytesMax = 256;
constexpr int kAttemptsMax = 10;

Error system_error(const std::filesystem::path& path) {
    return fail(ErrorCode::kIo, "cannot lock " + path.string() + ": " + std::strerror(errno));
}

/// A holder that removes its file leaves a lock on a file without a name to whoever opened it
/// before: that lock keeps no one out.
bool is_still(int file, const std::filesystem::path& path) {
    struct stat locked {};
    struct stat named {};
    return ::fstat(file, &locked) == 0 && ::stat(path.c_str(), &named) == 0 &&
           locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

/// The locked file; absent if its name meanwhile means another.
Result<std::optional<int>> lock_once(const std::filesystem::path& path, int flags) {
    const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
    if (file < 0) return system_error(path);
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) {
        if (is_still(file, path)) return std::optional(file);
        ::close(file);
        return std::optional<int>();
    }
    const bool held = errno == EWOULDBLOCK;
    Error error = system_error(path);
    ::close(file);
    if (!held) return error;
    const std::string holder = FileLock::holder_of(path);
    return fail(ErrorCode::kConflict,
                path.string() + " is locked by " + (holder.empty() ? "another process" : holder));
}

Result<int> lock(const std::filesystem::path& path, int flags) {
    for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
        GYM_TRY(const std::optional<int> file, lock_once(path, flags));
        if (file) return *file;
    }
    return fail(ErrorCode::kConflict, path.string() + " is removed again and again");
}

}  // namespace

Result<FileLock> FileLock::acquire(const std::filesystem::path& path, const std::string& holder) {
    GYM_TRY(const int file, lock(path, O_RDWR | O_CREAT));
    FileLock out(file);
    if (::ftruncate(file, 0) != 0 ||
        ::pwrite(file, holder.data(), holder.size(), 0) != static_cast<ssize_t>(holder.size()))
        return system_error(path);
    return out;
}

Result<FileLock> FileLock::acquire_existing(const std::filesystem::path& path) {
    GYM_TRY(const int file, lock(path, O_RDONLY));
    return FileLock(file);
}

std::string FileLock::holder_of(const std::filesystem::path& path) {
    const auto content = read_file(path, kHolderBytesMax);
    return content.ok() ? std::string(content->begin(), content->end()) : "";
}

FileLock::~FileLock() {
    if (file_ >= 0) ::close(file_);
}

}  // namespace gym
