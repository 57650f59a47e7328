#include "gym/blob/directory_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "gym/common/assert.hpp"
#include "gym/common/file.hpp"

namespace gym::blob {
namespace {

Error io_error(const std::filesystem::path& path, const std::error_code& code) {
    return fail(ErrorCode::kIo, path.string() + ": " + code.message());
}

class FileReader final : public BlobReader {
  public:
    FileReader(std::filesystem::path path, int file, std::uint64_t size)
        : path_(std::move(path)), file_(file), size_(size) {}
    FileReader(const FileReader&) = delete;
    FileReader& operator=(const FileReader&) = delete;
    ~FileReader() override { ::close(file_); }

    [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        GYM_ASSERT(offset <= size_ && out.size() <= size_ - offset, "a read beyond the blob");
        while (!out.empty()) {
            const ssize_t got = ::pread(file_, out.data(), out.size(), static_cast<off_t>(offset));
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0)
                return fail(ErrorCode::kIo, path_.string() + ": " +
                                                (got < 0 ? std::strerror(errno) : "it was cut"));
            offset += static_cast<std::uint64_t>(got);
            out = out.subspan(static_cast<std::size_t>(got));
        }
        return {};
    }

  private:
    const std::filesystem::path path_;
    const int file_;
    const std::uint64_t size_;
};

}  // namespace

Result<DirectoryStore> DirectoryStore::open(const std::filesystem::path& directory) {
    std::error_code code;
    std::filesystem::create_directories(directory, code);
    if (code) return io_error(directory, code);
    if (!std::filesystem::is_directory(directory, code))
        return fail(ErrorCode::kIo, directory.string() + ": not a directory");
    return DirectoryStore(directory);
}

std::filesystem::path DirectoryStore::path_of(const Digest& root) const {
    return folder_.path_of(root);
}

Status DirectoryStore::write(const Digest& root, ByteView content) {
    const std::filesystem::path path = path_of(root);
    std::error_code code;
    // A file of the right size may still be rotten; load() finds that, and writing again repairs
    // it.
    if (std::filesystem::file_size(path, code) == content.size() && !code && load(root).ok()) {
        GYM_TRY(const bool held, hold(root));
        if (held) return {};  // else it was erased meanwhile
    }
    std::filesystem::create_directories(path.parent_path(), code);
    if (code) return io_error(path.parent_path(), code);
    return write_file_atomic(path, content);
}

Result<Bytes> DirectoryStore::read(const Digest& root) const {
    auto content = read_file(path_of(root));
    if (!content.ok() && content.error().code == ErrorCode::kNotFound)
        return fail(ErrorCode::kNotFound, "no blob " + root.hex());
    return content;
}

Result<std::unique_ptr<const BlobReader>> open_file(const std::filesystem::path& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 && errno == ENOENT) return fail(ErrorCode::kNotFound, "no file " + path.string());
    struct stat info {};
    const bool regular = file >= 0 && ::fstat(file, &info) == 0 && S_ISREG(info.st_mode);
    if (!regular) {
        const int error = errno;
        if (file >= 0) ::close(file);
        return io_error(path, std::error_code(file < 0 ? error : EINVAL, std::system_category()));
    }
    return std::unique_ptr<const BlobReader>(
        std::make_unique<FileReader>(path, file, static_cast<std::uint64_t>(info.st_size)));
}

Result<std::unique_ptr<const BlobReader>> DirectoryStore::open_reader(const Digest& root) const {
    auto reader = open_file(path_of(root));
    if (!reader.ok() && reader.error().code == ErrorCode::kNotFound)
        return fail(ErrorCode::kNotFound, "no blob " + root.hex());
    return reader;
}

Result<bool> DirectoryStore::has(const Digest& root) const {
    std::error_code code;
    const bool exists = std::filesystem::exists(path_of(root), code);
    if (code) return io_error(path_of(root), code);
    return exists;
}

Status DirectoryStore::remove(const Digest& root) {
    std::error_code code;
    std::filesystem::remove(path_of(root), code);
    if (code) return io_error(path_of(root), code);
    return {};
}

Result<bool> DirectoryStore::hold(const Digest& root) {
    const std::filesystem::path path = path_of(root);
    return folder_.touch({&path, 1});
}

Result<std::vector<StoredBlob>> DirectoryStore::list_idle(std::uint8_t first,
                                                          std::chrono::milliseconds idle) {
    return folder_.list_idle(first, idle);
}

Result<bool> DirectoryStore::erase(const StoredBlob& blob) {
    const std::filesystem::path path = path_of(blob.root);
    return folder_.erase(blob, {&path, 1});
}

}  // namespace gym::blob
