#include "gym/rpc/blob_cache.hpp"

#include <fstream>
#include <system_error>

#include "gym/common/file.hpp"

namespace gym::rpc {
namespace {

std::uint64_t size_or_zero(const std::filesystem::path& path) {
    std::error_code code;
    const std::uint64_t size = std::filesystem::file_size(path, code);
    return code ? 0 : size;
}

}  // namespace

Result<BlobCache> BlobCache::open(const std::filesystem::path& directory,
                                  Coordinator& coordinator) {
    GYM_TRY(blob::DirectoryStore store, blob::DirectoryStore::open(directory));
    const std::filesystem::path partial = directory / "partial";
    std::error_code code;
    std::filesystem::create_directories(partial, code);
    if (code) return fail(ErrorCode::kIo, partial.string() + ": " + code.message());
    return BlobCache(std::move(store), partial, coordinator);
}

Result<blob::VerifiedBlob> BlobCache::fetch(const Digest& root, const Progress& progress) {
    auto cached = store_.load(root);
    if (cached.ok() || cached.error().code == ErrorCode::kIo) return cached;
    const std::filesystem::path path = partial_ / to_hex(root.view());
    const bool resumed = size_or_zero(path) > 0;
    for (bool again = resumed;; again = false) {
        GYM_CHECK(download(root, path, progress));
        GYM_TRY(Bytes content, read_file(path));
        auto blob = blob::VerifiedBlob::check(root, std::move(content));
        const Status stored = blob.ok() ? store_.put(*blob) : Status(blob.error());
        std::error_code ignored;
        std::filesystem::remove(path, ignored);
        if (stored.ok()) return blob;
        // The remains of an earlier download may have been the corrupt part: download it once more
        // from the start.
        if (stored.error().code != ErrorCode::kMismatch || !again) return stored.error();
    }
}

Status BlobCache::download(const Digest& root, const std::filesystem::path& path,
                           const Progress& progress) {
    std::uint64_t received = size_or_zero(path);
    std::ofstream file(path, std::ios::binary | std::ios::app);
    const auto sink = [&](ByteView chunk, std::uint64_t size_bytes) -> Status {
        file.write(reinterpret_cast<const char*>(chunk.data()),
                   static_cast<std::streamsize>(chunk.size()));
        file.flush();
        if (!file) return fail(ErrorCode::kIo, "cannot write " + path.string());
        received += chunk.size();
        if (progress) progress(received, size_bytes);
        return {};
    };
    Status status = coordinator_->get_blob(root, received, sink);
    if (!status.ok() && status.error().code == ErrorCode::kOutOfRange && received > 0) {
        // The part on disk is longer than the blob: it is not a part of it.
        file.close();
        file.open(path, std::ios::binary | std::ios::trunc);
        received = 0;
        status = coordinator_->get_blob(root, 0, sink);
    }
    return status;
}

}  // namespace gym::rpc
