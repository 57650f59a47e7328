#include "piece_io.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gym::mirror {

namespace fs = std::filesystem;

namespace {

Error io_error(const fs::path& path) {
    const bool full = errno == ENOSPC || errno == EDQUOT;
    return fail(full ? ErrorCode::kOutOfRange : ErrorCode::kIo,
                path.string() + ": " + std::strerror(errno));
}

}  // namespace

std::uint64_t bytes_on_disk(const fs::path& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_blocks) * 512 : 0;
}

Status write_at(int file, const fs::path& path, std::uint64_t offset, ByteView bytes) {
    while (!bytes.empty()) {
        const ssize_t put = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return io_error(path);
        offset += static_cast<std::uint64_t>(put);
        bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
    return {};
}

Result<bool> read_at(int file, const fs::path& path, std::uint64_t offset,
                     std::span<std::uint8_t> out) {
    while (!out.empty()) {
        const ssize_t got = ::pread(file, out.data(), out.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return io_error(path);
        if (got == 0) return false;
        offset += static_cast<std::uint64_t>(got);
        out = out.subspan(static_cast<std::size_t>(got));
    }
    return true;
}

}  // namespace gym::mirror
