#include "gym/client/download.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "gym/commit/tensor_root.hpp"

namespace gym::client {
namespace {

/// A file that grows at its end, and the hash of all of it.
class GrowingFile {
  public:
    static Result<GrowingFile> open(const std::filesystem::path& path, std::uint64_t size_max) {
        const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (descriptor < 0) return io_error(path, "open");
        GrowingFile file(path, descriptor);
        GYM_CHECK(file.hash_existing(size_max));
        return file;
    }
    GrowingFile(GrowingFile&& other) noexcept
        : path_(std::move(other.path_)),
          descriptor_(std::exchange(other.descriptor_, -1)),
          hasher_(std::move(other.hasher_)) {}
    GrowingFile& operator=(GrowingFile&&) = delete;
    ~GrowingFile() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }

    [[nodiscard]] std::uint64_t size() const { return hasher_.size_bytes(); }
    [[nodiscard]] Digest root() const {
        const std::uint64_t bytes = size();
        return commit::tensor_digest(commit::DType::kU8, {&bytes, 1}, hasher_.root());
    }

    Status append(ByteView bytes) {
        ByteView left = bytes;
        while (!left.empty()) {
            const ssize_t written = ::write(descriptor_, left.data(), left.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) {
                const Error error = io_error(path_, "write");
                // A part of a piece would be hashed with the next one's beginning.
                (void)::ftruncate(descriptor_, static_cast<off_t>(size()));
                return error;
            }
            left = left.subspan(static_cast<std::size_t>(written));
        }
        hasher_.update(bytes);
        return {};
    }

    Status clear() {
        hasher_ = {};
        if (::ftruncate(descriptor_, 0) != 0 || ::lseek(descriptor_, 0, SEEK_SET) != 0)
            return io_error(path_, "empty");
        return {};
    }

  private:
    GrowingFile(std::filesystem::path path, int descriptor)
        : path_(std::move(path)), descriptor_(descriptor) {}

    static Error io_error(const std::filesystem::path& path, const char* action) {
        return fail(ErrorCode::kIo, std::string("cannot ") + action + " " + path.string() + ": " +
                                        std::strerror(errno));
    }

    Status hash_existing(std::uint64_t size_max) {
        struct stat info {};
        if (::fstat(descriptor_, &info) != 0) return io_error(path_, "look at");
        if (static_cast<std::uint64_t>(info.st_size) > size_max) return clear();
        constexpr std::uint64_t kStepBytes = 1 << 20;
        Bytes step(kStepBytes);
        auto left = static_cast<std::uint64_t>(info.st_size);
        while (left > 0) {
            const ssize_t got = ::read(descriptor_, step.data(), std::min(left, kStepBytes));
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return io_error(path_, "read");
            if (got == 0) return {};
            hasher_.update(ByteView(step).first(static_cast<std::size_t>(got)));
            left -= static_cast<std::uint64_t>(got);
        }
        return {};
    }

    std::filesystem::path path_;
    int descriptor_;
    commit::ChunkTreeHasher hasher_;
};

/// What the caller sees of an error of a download that can be continued.
Error kept(Error error, std::uint64_t done, std::uint64_t total) {
    error.message += "; " + std::to_string(done) + " of " + std::to_string(total) +
                     " bytes are kept, the same command continues there";
    return error;
}

Status fetch(const ApiClient& api, const WantedPart& wanted, GrowingFile& file,
             const DownloadOptions& options) {
    const std::uint64_t total = wanted.blob.bytes;
    while (file.size() < total) {
        const std::uint64_t done = file.size();
        if (options.interrupted && options.interrupted())
            return kept(fail(ErrorCode::kCancelled, "interrupted"), done, total);
        const auto piece = api.model_piece(
            {wanted.job, wanted.round, wanted.part, done,
             std::min({options.piece_bytes, kModelPieceBytesMax, total - done}), wanted.named});
        if (!piece.ok()) return kept(piece.error(), done, total);
        if (const Status added = file.append(as_bytes(*piece)); !added.ok())
            return kept(added.error(), done, total);
        if (options.progress) options.progress(file.size(), total);
    }
    return {};
}

}  // namespace

Status download(const ApiClient& api, const WantedPart& wanted, const std::filesystem::path& path,
                const DownloadOptions& options) {
    GYM_TRY(GrowingFile file, GrowingFile::open(path, wanted.blob.bytes));
    const bool resumed = file.size() > 0;
    GYM_CHECK(fetch(api, wanted, file, options));
    if (file.root() == wanted.blob.blob) return {};
    if (resumed) {  // what was there may be of something else
        GYM_CHECK(file.clear());
        GYM_CHECK(fetch(api, wanted, file, options));
        if (file.root() == wanted.blob.blob) return {};
    }
    const Digest found = file.root();
    GYM_CHECK(file.clear());
    return fail(ErrorCode::kMismatch, "the download is altered: its " +
                                          std::to_string(wanted.blob.bytes) + " bytes hash to " +
                                          found.hex() + ", gym-api named " +
                                          wanted.blob.blob.hex() + "; it was deleted");
}

}  // namespace gym::client
