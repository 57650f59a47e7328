#include "mirror_download.hpp"

#include <stop_token>
#include <string>
#include <utility>

#include "gym/mirror/sparse_file.hpp"

namespace gym::owner {
namespace {

namespace fs = std::filesystem;

/// A file that takes no more pieces once its user has had enough.
class InterruptibleFile final : public mirror::PieceSink {
  public:
    InterruptibleFile(mirror::SparseFile file, const client::DownloadOptions& options)
        : file_(std::move(file)), options_(options) {}

    bool has(std::uint64_t index) override { return file_.has(index); }
    Status write(std::uint64_t index, ByteView bytes) override {
        if (options_.interrupted && options_.interrupted())
            return fail(ErrorCode::kCancelled,
                        "interrupted; what arrived is kept, the same command continues there");
        return file_.write(index, bytes);
    }
    Status finish_as(const fs::path& file) { return file_.finish_as(file); }

  private:
    mirror::SparseFile file_;
    const client::DownloadOptions& options_;
};

}  // namespace

Status download_from_mirrors(mirror::Fetcher& mirrors, const client::ModelBlob& blob,
                             const fs::path& file, const client::DownloadOptions& options) {
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
    GYM_TRY(mirror::SparseFile parts, mirror::SparseFile::open(pieces, list));
    InterruptibleFile sink(std::move(parts), options);
    GYM_CHECK(mirrors.download(list, sink, never.get_token(), options.progress));
    return sink.finish_as(file);
}

}  // namespace gym::owner
