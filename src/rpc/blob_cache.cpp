#include "gym/rpc/blob_cache.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <random>
#include <system_error>

#include "gym/vault/sealed_file.hpp"
#include "piece_file.hpp"

namespace gym::rpc {

/// The network's mirrors, asked again every kMirrorsEvery while blobs are fetched. Thread-safe.
struct BlobCache::Mirrors {
    std::atomic<std::uint64_t> mirror_bytes{0}, peer_bytes{0}, coordinator_bytes{0};

    /// Null: the network names none, or did not answer yet.
    std::shared_ptr<mirror::Fetcher> of(Coordinator& coordinator) {
        const std::scoped_lock lock(mutex_);
        const auto now = std::chrono::steady_clock::now();
        if (asked_ && now - *asked_ < kMirrorsEvery) return fetcher_;
        const auto mirrors = coordinator.mirrors();
        if (!mirrors.ok()) {  // those known before are as good as they were
            if (asked_) asked_ = now;
            return fetcher_;
        }
        const bool first = !asked_;
        asked_ = now;
        if (!first && *mirrors == urls_) return fetcher_;
        urls_ = *mirrors;
        if (!first) spdlog::info("the network names {} mirrors now", urls_.size());
        fetcher_ = make(coordinator);
        return fetcher_;
    }
    [[nodiscard]] std::vector<mirror::SourceReport> sources() {
        const std::scoped_lock lock(mutex_);
        return fetcher_ ? fetcher_->sources() : std::vector<mirror::SourceReport>();
    }

  private:
    static constexpr std::chrono::seconds kMirrorsEvery{60};

    [[nodiscard]] std::shared_ptr<mirror::Fetcher> make(Coordinator& coordinator) const {
        const auto network = coordinator.network();
        if (urls_.empty() || !network.ok()) return nullptr;
        mirror::FetchOptions options;
        options.blob_bytes_max = network->blob_bytes_max;
        // Of equal ones the first is used: not all nodes shall have the same first.
        std::vector<std::string> urls = urls_;
        std::ranges::shuffle(urls, std::minstd_rand(std::random_device{}()));
        auto made = mirror::Fetcher::create(urls, options);
        if (made.ok()) return std::move(made).value();
        spdlog::warn("the network's mirrors are not used: {}", made.error().message);
        return nullptr;
    }

    std::mutex mutex_;
    std::optional<std::chrono::steady_clock::time_point> asked_;
    std::vector<std::string> urls_;
    std::shared_ptr<mirror::Fetcher> fetcher_;
};

BlobCache::BlobCache(vault::SealedStore store, std::filesystem::path partial,
                     Coordinator& coordinator)
    : store_(std::move(store)),
      partial_(std::move(partial)),
      coordinator_(&coordinator),
      mirrors_(std::make_shared<Mirrors>()) {}

BlobCache::Traffic BlobCache::traffic() const {
    return {mirrors_->mirror_bytes, mirrors_->peer_bytes, mirrors_->coordinator_bytes};
}

std::vector<mirror::SourceReport> BlobCache::sources() const {
    return mirrors_->sources();
}

Result<BlobCache> BlobCache::open(const std::filesystem::path& directory, Coordinator& coordinator,
                                  const vault::StoreKey& key) {
    GYM_TRY(vault::SealedStore store, vault::SealedStore::open(directory, key));
    const std::filesystem::path partial = directory / "partial";
    std::error_code code;
    std::filesystem::create_directories(partial, code);
    if (code) return fail(ErrorCode::kIo, partial.string() + ": " + code.message());
    return BlobCache(std::move(store), partial, coordinator);
}

Result<blob::VerifiedBlob> BlobCache::fetch(const Digest& root, const Progress& progress,
                                            Audience audience) {
    auto cached = store_.load(root);
    if (cached.ok()) GYM_CHECK(store_.hold(root));  // it is in use: remove_idle()
    if (cached.ok() || cached.error().code == ErrorCode::kIo) return cached;
    if (auto pieced = fetch_pieces(root, progress, audience)) return std::move(*pieced);
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

Result<std::uint64_t> BlobCache::remove_idle(std::chrono::milliseconds idle,
                                             FunctionRef<bool(const Digest&)> needs) {
    constexpr int kFirstBytes = 256;
    std::uint64_t bytes = 0;
    for (int first = 0; first < kFirstBytes; ++first) {
        GYM_TRY(const auto listed, store_.list_idle(static_cast<std::uint8_t>(first), idle));
        for (const blob::StoredBlob& blob : listed) {
            if (needs(blob.root)) continue;
            GYM_TRY(const bool erased, store_.erase(blob));
            if (erased) bytes += blob.bytes;
        }
    }
    const auto before = std::filesystem::file_time_type::clock::now() - idle;
    std::error_code code;
    for (std::filesystem::directory_iterator part(partial_, code), end; !code && part != end;
         part.increment(code)) {
        std::error_code ignored;  // a download may end meanwhile
        const auto written = std::filesystem::last_write_time(part->path(), ignored);
        if (!ignored && written < before) std::filesystem::remove(part->path(), ignored);
    }
    if (code) return fail(ErrorCode::kIo, partial_.string() + ": " + code.message());
    return bytes;
}

std::optional<Result<blob::VerifiedBlob>> BlobCache::fetch_pieces(const Digest& root,
                                                                  const Progress& progress,
                                                                  Audience audience) {
    const std::shared_ptr<mirror::Fetcher> mirrors = mirrors_->of(*coordinator_);
    if (mirrors == nullptr) return std::nullopt;
    const auto list = mirrors->pieces(root, coordinator_->stop());
    if (!list.ok()) {
        if (list.error().code == ErrorCode::kCancelled) return list.error();
        spdlog::debug("{}", list.error().message);
        return std::nullopt;
    }
    const std::filesystem::path path = partial_ / (to_hex(root.view()) + ".pieces");
    // Ends before the list does, and before anybody asks for the blob again.
    std::unique_ptr<mirror::Peers> peers;
    if (swarm_ != nullptr && audience == Audience::kMany) peers = swarm_->join(*list, mirrors);
    const Status arrived = download_pieces(*mirrors, *list, path, progress, peers.get());
    peers.reset();
    if (!arrived.ok()) return arrived.error();  // what has arrived is kept
    std::error_code ignored;
    auto blob = store_.adopt_sealed(root, path);
    std::filesystem::remove(path, ignored);
    std::filesystem::remove(partial_ / to_hex(root.view()), ignored);
    return blob;
}

Status BlobCache::download_pieces(mirror::Fetcher& mirrors, const blob::PieceList& list,
                                  const std::filesystem::path& path, const Progress& progress,
                                  mirror::Peers* peers) {
    GYM_TRY(PieceFile file, PieceFile::open(path, store_.key(), list));
    Status fetched = mirrors.download(list, file, coordinator_->stop(), progress, peers);
    const std::uint64_t by_peers = peers == nullptr ? 0 : peers->taken_bytes();
    const std::uint64_t found = peers == nullptr ? 0 : peers->found_bytes();
    const std::uint64_t by_mirrors = file.bytes_written() - by_peers - found;
    mirrors_->peer_bytes += by_peers;
    mirrors_->mirror_bytes += by_mirrors;
    if (by_peers > 0)
        spdlog::info("blob {}: {} KiB came from peers, {} KiB from mirrors", list.root().hex(),
                     by_peers >> 10, by_mirrors >> 10);
    if (!fetched.ok()) {
        const ErrorCode code = fetched.error().code;
        if (code != ErrorCode::kUnavailable && code != ErrorCode::kNotFound) return fetched;
        spdlog::info("asking the coordinator for the rest: {}", fetched.error().message);
        GYM_TRY(const std::uint64_t sent,
                file.complete_from(*coordinator_, [&](std::uint64_t received) {
                    if (progress) progress(received, list.size_bytes());
                }));
        mirrors_->coordinator_bytes += sent;
    }
    return file.finish();
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
        mirrors_->coordinator_bytes += chunk.size();
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
