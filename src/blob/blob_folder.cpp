#include "gym/blob/blob_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "gym/common/descriptor.hpp"

namespace gym::blob {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRootDigits = 64;
constexpr std::string_view kSealed = ".sealed";
constexpr std::int64_t kNsPerSecond = 1'000'000'000;

Error io_error(const fs::path& path, const std::error_code& code) {
    return fail(ErrorCode::kIo, path.string() + ": " + code.message());
}

/// A lock that ends with the descriptor.
Result<Descriptor> lock(const fs::path& directory, int how) {
    const fs::path path = directory / ".lock";
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0660));
    if (file.get() < 0) return system_error(path, "open");
    int locked = 0;
    do
        locked = ::flock(file.get(), how);
    while (locked != 0 && errno == EINTR);
    if (locked != 0) return system_error(path, "lock");
    return file;
}

struct Found {
    std::uint64_t bytes = 0;
    std::int64_t written_ns = 0;
    std::int64_t changed_ns = 0;  ///< also by a link to it
};

std::int64_t to_ns(const timespec& time) {
    return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

/// Absent: there is no such file.
Result<std::optional<Found>> look_at(const fs::path& path) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) return std::optional<Found>();
        return system_error(path, "stat");
    }
    if (!S_ISREG(info.st_mode)) return std::optional<Found>();
    return std::optional(
        Found{static_cast<std::uint64_t>(info.st_size), to_ns(info.st_mtim), to_ns(info.st_ctim)});
}

std::int64_t now_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return to_ns(now);
}

/// The root in the name of a blob's file; absent for other files.
std::optional<Digest> root_in(std::string_view name) {
    if (name.ends_with(kSealed)) name.remove_suffix(kSealed.size());
    if (name.size() != kRootDigits ||
        name.find_first_not_of("0123456789abcdef") != std::string_view::npos)
        return std::nullopt;
    const auto root = Digest::parse(name);
    return root.ok() ? std::optional(*root) : std::nullopt;
}

/// Stores write a blob under such a name before it gets its own.
bool is_unfinished(std::string_view name) {
    return name.starts_with('.') && name.size() > kRootDigits;
}

/// The entries of a folder; none if there is no such folder.
Result<std::vector<fs::path>> entries_of(const fs::path& folder) {
    std::vector<fs::path> out;
    std::error_code code;
    for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code))
        out.push_back(at->path());
    const bool none =
        code == std::errc::no_such_file_or_directory || code == std::errc::not_a_directory;
    if (code && !none) return io_error(folder, code);
    return out;
}

}  // namespace

fs::path BlobFolder::path_of(const Digest& root) const {
    // Two levels of 256 keep every folder small up to hundreds of millions of blobs.
    const std::string name = to_hex(root.view());
    return directory_ / name.substr(0, 2) / name.substr(2, 2) / name;
}

Status BlobFolder::place(const fs::path& file, const fs::path& path) const {
    GYM_TRY(const Descriptor held, lock(directory_, LOCK_SH));
    // Its bytes may have been written and synced for longer than blobs may be idle.
    if (::utimensat(AT_FDCWD, file.c_str(), nullptr, 0) != 0) return system_error(file, "date");
    std::error_code code;
    fs::rename(file, path, code);
    if (code) return io_error(path, code);
    return {};
}

Result<bool> BlobFolder::touch(std::span<const fs::path> paths) const {
    GYM_TRY(const Descriptor held, lock(directory_, LOCK_SH));
    bool any = false;
    for (const fs::path& path : paths) {
        if (::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0)
            any = true;
        else if (errno != ENOENT && errno != ENOTDIR)
            return system_error(path, "date");
    }
    return any;
}

Result<std::vector<StoredBlob>> BlobFolder::list_idle(std::uint8_t first,
                                                      std::chrono::milliseconds idle) const {
    const std::int64_t before_ns =
        now_ns() - std::chrono::duration_cast<std::chrono::nanoseconds>(idle).count();
    std::map<Digest, Found> found;  // a root may have a file in the clear and a sealed one
    GYM_TRY(const auto folders, entries_of(directory_ / to_hex({&first, 1})));
    for (const fs::path& folder : folders) {
        GYM_TRY(const auto files, entries_of(folder));
        for (const fs::path& file : files) {
            GYM_TRY(const auto here, look_at(file));
            if (!here) continue;
            const std::string name = file.filename().string();
            const auto root = root_in(name);
            if (is_unfinished(name) && here->changed_ns <= before_ns) {
                std::error_code ignored;  // the next pass removes it
                fs::remove(file, ignored);
            }
            if (!root || path_of(*root).parent_path() != folder) continue;
            Found& blob = found[*root];
            blob.bytes += here->bytes;
            blob.written_ns = std::max(blob.written_ns, here->written_ns);
        }
    }
    std::vector<StoredBlob> out;
    for (const auto& [root, blob] : found)
        if (blob.written_ns <= before_ns) out.push_back({root, blob.bytes, blob.written_ns});
    return out;
}

Result<bool> BlobFolder::erase(const StoredBlob& blob, std::span<const fs::path> paths) const {
    GYM_TRY(const Descriptor held, lock(directory_, LOCK_EX));
    for (const fs::path& path : paths) {
        GYM_TRY(const auto here, look_at(path));
        if (here && here->written_ns > blob.written_ns) return false;
    }
    bool erased = false;
    for (const fs::path& path : paths) {
        std::error_code code;
        erased = fs::remove(path, code) || erased;
        if (code) return io_error(path, code);
    }
    return erased;
}

}  // namespace gym::blob
