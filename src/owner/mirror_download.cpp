#include "mirror_download.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stop_token>
#include <string>
#include <utility>

namespace gym::owner {
namespace {

namespace fs = std::filesystem;

/// A file in which pieces appear in any order. A piece is there if it has its digest.
class SparseFile final : public mirror::PieceSink {
  public:
    static Result<SparseFile> open(fs::path path, const blob::PieceList& list,
                                   const MirrorCalls& calls) {
        const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        SparseFile file(std::move(path), descriptor, list, calls);
        if (descriptor < 0) return file.io_error("open");
        return file;
    }
    SparseFile(SparseFile&& other) noexcept
        : path_(std::move(other.path_)),
          descriptor_(std::exchange(other.descriptor_, -1)),
          list_(other.list_),
          calls_(other.calls_) {}
    SparseFile& operator=(SparseFile&&) = delete;
    ~SparseFile() override {
        if (descriptor_ >= 0) ::close(descriptor_);
    }

    bool has(std::uint64_t index) override {
        Bytes bytes(static_cast<std::size_t>(list_.size_of(index)));
        std::size_t filled = 0;
        while (filled < bytes.size()) {
            const ssize_t got = ::pread(descriptor_, bytes.data() + filled, bytes.size() - filled,
                                        static_cast<off_t>(list_.offset(index) + filled));
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return false;
            filled += static_cast<std::size_t>(got);
        }
        return list_.matches(index, bytes);
    }

    Status write(std::uint64_t index, ByteView bytes) override {
        if (calls_.interrupted && calls_.interrupted())
            return fail(ErrorCode::kCancelled,
                        "interrupted; what arrived is kept, the same command continues there");
        std::uint64_t offset = list_.offset(index);
        while (!bytes.empty()) {
            const ssize_t written =
                ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) return io_error("write");
            offset += static_cast<std::uint64_t>(written);
            bytes = bytes.subspan(static_cast<std::size_t>(written));
        }
        return {};
    }

    /// What is behind the blob's end is of an earlier one.
    Status finish_as(const fs::path& file) {
        if (::ftruncate(descriptor_, static_cast<off_t>(list_.size_bytes())) != 0)
            return io_error("shorten");
        std::error_code error;
        fs::rename(path_, file, error);
        if (error) return fail(ErrorCode::kIo, path_.string() + ": " + error.message());
        return {};
    }

  private:
    SparseFile(fs::path path, int descriptor, const blob::PieceList& list, const MirrorCalls& calls)
        : path_(std::move(path)), descriptor_(descriptor), list_(list), calls_(calls) {}

    [[nodiscard]] Error io_error(const char* action) const {
        return fail(ErrorCode::kIo, std::string("cannot ") + action + " " + path_.string() + ": " +
                                        std::strerror(errno));
    }

    fs::path path_;
    int descriptor_;
    const blob::PieceList& list_;
    const MirrorCalls& calls_;
};

}  // namespace

Status download_from_mirrors(mirror::Fetcher& mirrors, const client::ModelBlob& blob,
                             const fs::path& file, const MirrorCalls& calls) {
    std::error_code ignored;
    if (fs::exists(file, ignored)) return {};
    const std::stop_source never;
    GYM_TRY(const blob::PieceList list, mirrors.pieces(blob.blob, never.get_token()));
    if (list.size_bytes() != blob.bytes)
        return fail(ErrorCode::kMismatch,
                    "blob " + blob.blob.hex() + " has " + std::to_string(list.size_bytes()) +
                        " bytes, gym-api named " + std::to_string(blob.bytes));
    fs::path pieces = file;
    pieces += ".pieces";
    GYM_TRY(SparseFile sink, SparseFile::open(pieces, list, calls));
    GYM_CHECK(mirrors.download(list, sink, never.get_token(), calls.progress));
    return sink.finish_as(file);
}

}  // namespace gym::owner
