#include "gym/common/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace gym {
namespace {

Error system_error(const std::filesystem::path& path, const char* action) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return fail(
        code, std::string("cannot ") + action + " " + path.string() + ": " + std::strerror(errno));
}

/// Closes on scope exit; close() reports the error that a destructor cannot.
class Descriptor {
  public:
    explicit Descriptor(int value) : value_(value) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (value_ >= 0) ::close(value_);
    }
    [[nodiscard]] int get() const { return value_; }
    [[nodiscard]] bool close() {
        const int value = value_;
        value_ = -1;
        return ::close(value) == 0;
    }

  private:
    int value_;
};

bool write_all(int descriptor, ByteView content) {
    while (!content.empty()) {
        const ssize_t written = ::write(descriptor, content.data(), content.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        content = content.subspan(static_cast<std::size_t>(written));
    }
    return true;
}

bool write_all(int descriptor, std::span<const ByteView> parts) {
    return std::ranges::all_of(parts, [&](ByteView part) { return write_all(descriptor, part); });
}

Status sync_folder(const std::filesystem::path& folder) {
    Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (descriptor.get() < 0 || ::fsync(descriptor.get()) != 0) return system_error(folder, "sync");
    return {};
}

}  // namespace

Result<Bytes> read_file(const std::filesystem::path& path, std::uint64_t size_bytes_max) {
    const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (descriptor.get() < 0) return system_error(path, "open");
    struct stat info {};
    if (::fstat(descriptor.get(), &info) != 0) return system_error(path, "stat");
    if (S_ISDIR(info.st_mode))
        return fail(ErrorCode::kIo, "cannot read " + path.string() + ": it is a folder");

    constexpr std::size_t kStepBytes = std::size_t{1} << 20;  // for pipes, whose size is unknown
    Bytes out(static_cast<std::size_t>(info.st_size) + 1);
    std::size_t used = 0;
    while (true) {
        if (used > size_bytes_max)
            return fail(ErrorCode::kOutOfRange, path.string() + " is larger than the limit of " +
                                                    std::to_string(size_bytes_max) + " bytes");
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

Status write_file_atomic(const std::filesystem::path& path, ByteView content, unsigned mode) {
    return write_file_atomic(path, std::span(&content, 1), mode);
}

Status write_file_atomic(const std::filesystem::path& path, std::span<const ByteView> parts,
                         unsigned mode) {
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    std::string temporary = (folder / ("." + path.filename().string() + ".XXXXXX")).string();
    Descriptor descriptor(::mkostemp(temporary.data(), O_CLOEXEC));
    if (descriptor.get() < 0) return system_error(path, "create a temporary file for");

    Status status;
    if (::fchmod(descriptor.get(), static_cast<mode_t>(mode)) != 0 ||
        !write_all(descriptor.get(), parts) || ::fsync(descriptor.get()) != 0 ||
        !descriptor.close())
        status = system_error(path, "write");
    else if (::rename(temporary.c_str(), path.c_str()) != 0)
        status = system_error(path, "rename to");
    if (!status.ok()) {
        ::unlink(temporary.c_str());
        return status;
    }
    return sync_folder(folder);
}

}  // namespace gym
