#include "gym/rpc/blob_cache.hpp"

#include <optional>
#include <system_error>

#include "gym/vault/sealed_file.hpp"

namespace gym::rpc {

Result<BlobCache> BlobCache::open(const std::filesystem::path& directory, Coordinator& coordinator,
                                  const vault::StoreKey& key) {
    GYM_TRY(vault::SealedStore store, vault::SealedStore::open(directory, key));
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
    std::error_code ignored;
    const bool resumed = std::filesystem::exists(path, ignored);
    for (bool again = resumed;; again = false) {
        const Status arrived = download(root, path, progress);
        auto blob = arrived.ok() ? store_.adopt_sealed(root, path)
                                 : Result<blob::VerifiedBlob>(arrived.error());
        if (blob.ok()) return blob;
        const bool wrong = blob.error().code == ErrorCode::kMismatch;
        if (!arrived.ok() && !wrong) return blob;  // what has arrived is kept
        std::filesystem::remove(path, ignored);
        // The remains of an earlier download may have been the corrupt part: download it once more
        // from the start.
        if (!wrong || !again) return blob;
    }
}

Status BlobCache::download(const Digest& root, const std::filesystem::path& path,
                           const Progress& progress) {
    std::optional<vault::SealWriter> file;
    // Another key's, or what a crash left, is begun anew.
    if (auto rest = vault::SealWriter::resume(path, store_.key(), root); rest.ok())
        file.emplace(std::move(rest).value());
    const auto sink = [&](ByteView chunk, std::uint64_t size_bytes) -> Status {
        if (!file || file->size_bytes() != size_bytes) {
            if (file && file->received_bytes() > 0)
                return fail(ErrorCode::kMismatch, "blob " + root.hex() + " has another size now");
            GYM_TRY(vault::SealWriter begun,
                    vault::SealWriter::create(path, store_.key(), root, size_bytes));
            file.emplace(std::move(begun));
        }
        if (chunk.size() > size_bytes - file->received_bytes())
            return fail(ErrorCode::kMismatch, "blob " + root.hex() + " is longer than its size");
        Status kept = file->append(chunk);
        if (kept.ok()) kept = file->flush();
        if (!kept.ok()) {  // of this disk, not of the coordinator's answer
            Error error = kept.error();
            error.code = ErrorCode::kIo;
            return error;
        }
        if (progress) progress(file->received_bytes(), size_bytes);
        return {};
    };
    const std::uint64_t offset = file ? file->received_bytes() : 0;
    Status status = coordinator_->get_blob(root, offset, sink);
    if (!status.ok() && status.error().code == ErrorCode::kOutOfRange && offset > 0) {
        // The part on disk is longer than the blob: it is not a part of it.
        file.reset();
        status = coordinator_->get_blob(root, 0, sink);
    }
    GYM_CHECK(status);
    if (!file) GYM_CHECK(sink({}, 0));  // a blob of no bytes
    return file->finish();
}

}  // namespace gym::rpc
