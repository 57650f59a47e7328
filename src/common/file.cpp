#include "gym/common/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "gym/common/descriptor.hpp"
#include "gym/common/memory.hpp"

namespace gym {

Error system_error(const std::filesystem::path& path, const char* action) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return fail(
        code, std::string("cannot ") + action + " " + path.string() + ": " + std::strerror(errno));
}

namespace {

bool write_all(int descriptor, ByteView content) {
    while (!content.empty()) {
        const ssize_t written = ::write(descriptor, content.data(), content.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        content = content.subspan(static_cast<std::size_t>(written));
    }
    return true;
}

Status sync_folder(const std::filesystem::path& folder) {
    Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (descriptor.get() < 0 || ::fsync(descriptor.get()) != 0) return system_error(folder, "sync");
    return {};
}

/// The name in errors of a file that is not a regular one.
const char* kind_of(mode_t mode) {
    switch (mode & S_IFMT) {
        case S_IFDIR:
            return "a folder";
        case S_IFIFO:
            return "a pipe";
        case S_IFSOCK:
            return "a socket";
        case S_IFCHR:
        case S_IFBLK:
            return "a device";
        default:
            return "no regular file";
    }
}

Error irregular(const std::filesystem::path& path, mode_t mode) {
    return fail(ErrorCode::kIo, "cannot read " + path.string() + ": it is " + kind_of(mode) +
                                    ", and only a regular file is read here");
}

Error too_large(const std::filesystem::path& path, std::uint64_t size_bytes_max) {
    return fail(ErrorCode::kOutOfRange, path.string() + " is larger than the limit of " +
                                            std::to_string(size_bytes_max) + " bytes");
}

/// Pipes are read to the limit at worst: passphrases and configurations, nothing that could fill
/// the memory.
constexpr std::uint64_t kPipeBytesMax = std::uint64_t{1} << 20;
/// Files below this are read without asking how much memory there is.
constexpr std::uint64_t kSmallFileBytes = std::uint64_t{1} << 26;

Status check_readable(const std::filesystem::path& path, const struct stat& info,
                      std::uint64_t size_bytes_max) {
    if (S_ISFIFO(info.st_mode) && size_bytes_max <= kPipeBytesMax) return {};
    if (!S_ISREG(info.st_mode)) return irregular(path, info.st_mode);
    const auto size = static_cast<std::uint64_t>(info.st_size);
    if (size > size_bytes_max) return too_large(path, size_bytes_max);
    if (size < kSmallFileBytes) return {};
    GYM_TRY(const std::uint64_t available, available_memory_bytes());
    if (size < available) return {};
    return fail(ErrorCode::kOutOfRange, "cannot read " + path.string() + ": it has " +
                                            memory_text(size) + ", and " + memory_text(available) +
                                            " of memory is available on this machine");
}

/// The regular file, or the name of none yet, that a write to `path` replaces: symbolic links are
/// followed, and anything else stays what it is.
Result<std::filesystem::path> target_of(const std::filesystem::path& path) {
    const auto refuse = [&](const std::string& why) {
        return fail(ErrorCode::kIo, "cannot write " + path.string() + ": " + why);
    };
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
        return refuse(std::string("it is ") + kind_of(info.st_mode) +
                      "; name a regular file, or one that does not exist yet");
    constexpr int kLinksMax = 40;  // as Linux
    std::filesystem::path target = path;
    for (int links = 0; ::lstat(target.c_str(), &info) == 0 && S_ISLNK(info.st_mode); ++links) {
        std::error_code error;
        const std::filesystem::path next = std::filesystem::read_symlink(target, error);
        if (error || links == kLinksMax)
            return refuse(error ? error.message() : "its symbolic links go round in a circle");
        target = target.parent_path() / next;  // `next` alone where it is absolute
    }
    return target;
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
    return path.has_parent_path() ? path.parent_path() : ".";
}

}  // namespace

Result<Bytes> read_file(const std::filesystem::path& path, std::uint64_t size_bytes_max) {
    struct stat info {};
    // Before open(), which waits for a pipe's writer.
    if (::stat(path.c_str(), &info) != 0) return system_error(path, "open");
    GYM_CHECK(check_readable(path, info, size_bytes_max));
    const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (descriptor.get() < 0) return system_error(path, "open");
    if (::fstat(descriptor.get(), &info) != 0) return system_error(path, "stat");
    GYM_CHECK(check_readable(path, info, size_bytes_max));

    constexpr std::size_t kStepBytes = std::size_t{1} << 20;  // for pipes, whose size is unknown
    Bytes out(static_cast<std::size_t>(info.st_size) + 1);
    std::size_t used = 0;
    while (true) {
        if (used > size_bytes_max) return too_large(path, size_bytes_max);
        if (used == out.size()) out.resize(out.size() + std::max(out.size(), kStepBytes));
        const ssize_t got = ::read(descriptor.get(), out.data() + used, out.size() - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error(path, "read");
        if (got == 0) break;
        used += static_cast<std::size_t>(got);
    }
    out.resize(used);
    return out;
}

Result<Bytes> read_range(const std::filesystem::path& path, std::uint64_t offset,
                         std::size_t size_bytes) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return system_error(path, "open");
    if (!S_ISREG(info.st_mode)) return irregular(path, info.st_mode);
    const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (descriptor.get() < 0) return system_error(path, "open");
    Bytes out(size_bytes);
    std::size_t used = 0;
    while (used < size_bytes) {
        const ssize_t got = ::pread(descriptor.get(), out.data() + used, size_bytes - used,
                                    static_cast<off_t>(offset + used));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error(path, "read");
        if (got == 0) break;
        used += static_cast<std::size_t>(got);
    }
    out.resize(used);
    return out;
}

Status check_writable(const std::filesystem::path& path) {
    GYM_TRY(const std::filesystem::path target, target_of(path));
    const std::filesystem::path folder = folder_of(target);
    std::error_code ignored;
    errno = ENOTDIR;
    if (std::filesystem::is_directory(folder, ignored) &&
        ::access(folder.c_str(), W_OK | X_OK) == 0)
        return {};
    if (!std::filesystem::exists(folder, ignored)) errno = ENOENT;
    return fail(ErrorCode::kIo, "cannot write " + path.string() + ": " + folder.string() + ": " +
                                    std::system_category().message(errno));
}

Status check_free_space(const std::filesystem::path& path, std::uint64_t bytes) {
    GYM_TRY(const std::filesystem::path target, target_of(path));
    std::error_code code;
    std::filesystem::path folder = folder_of(target);
    while (!std::filesystem::exists(folder, code) && folder.has_relative_path())
        folder = folder_of(folder);  // it will be made on the disk of the one that holds it
    const auto space = std::filesystem::space(folder, code);
    if (code) return fail(ErrorCode::kIo, "cannot write " + path.string() + ": " + code.message());
    if (space.available >= bytes) return {};
    return fail(ErrorCode::kIo, path.string() + " takes " + memory_text(bytes) + ", and its disk " +
                                    "has " + memory_text(space.available) +
                                    " free: free some or choose another place");
}

Status write_file_atomic(const std::filesystem::path& path, ByteView content, unsigned mode) {
    return write_file_atomic(path, std::span(&content, 1), mode);
}

Status write_file_atomic(const std::filesystem::path& path, std::span<const ByteView> parts,
                         unsigned mode) {
    GYM_TRY(AtomicFile file, AtomicFile::create(path, mode));
    for (const ByteView part : parts)
        GYM_CHECK(file.write(part));
    return file.commit();
}

AtomicFile::AtomicFile(std::filesystem::path path, std::filesystem::path target,
                       std::string temporary, int descriptor)
    : path_(std::move(path)),
      target_(std::move(target)),
      temporary_(std::move(temporary)),
      descriptor_(descriptor) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFile::~AtomicFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path, unsigned mode) {
    GYM_TRY(std::filesystem::path target, target_of(path));
    std::string temporary =
        (folder_of(target) / ("." + target.filename().string() + ".XXXXXX")).string();
    const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
    if (descriptor < 0) return system_error(path, "create a temporary file for");
    AtomicFile file(path, std::move(target), std::move(temporary), descriptor);
    if (::fchmod(descriptor, static_cast<mode_t>(mode)) != 0) return system_error(path, "write");
    return file;
}

Status AtomicFile::write(ByteView content) {
    if (!write_all(descriptor_, content)) return system_error(path_, "write");
    return {};
}

Status AtomicFile::commit() {
    if (::fsync(descriptor_) != 0) return system_error(path_, "write");
    if (::close(std::exchange(descriptor_, -1)) != 0) return system_error(path_, "write");
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) return system_error(path_, "rename to");
    temporary_.clear();
    return sync_folder(folder_of(target_));
}

Result<FileAppender> FileAppender::open(const std::filesystem::path& path, unsigned mode) {
    const int descriptor =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, static_cast<mode_t>(mode));
    if (descriptor < 0) return system_error(path, "open");
    struct stat info {};
    if (::fstat(descriptor, &info) != 0) {
        const Error error = system_error(path, "stat");
        ::close(descriptor);
        return error;
    }
    return FileAppender(path, descriptor, static_cast<std::uint64_t>(info.st_size));
}

FileAppender::~FileAppender() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

Status FileAppender::append(ByteView content) {
    while (!content.empty()) {
        const ssize_t written = ::write(descriptor_, content.data(), content.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            Error error = system_error(path_, "write");
            if (errno == ENOSPC || errno == EDQUOT) error.code = ErrorCode::kOutOfRange;
            return error;
        }
        content = content.subspan(static_cast<std::size_t>(written));
        size_bytes_ += static_cast<std::uint64_t>(written);
    }
    return {};
}

Status FileAppender::sync() {
    if (::fsync(descriptor_) != 0) return system_error(path_, "sync");
    return {};
}

}  // namespace gym
