#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/function_ref.hpp"
#include "gym/common/result.hpp"
#include "gym/mirror/fetcher.hpp"
#include "gym/rpc/coordinator.hpp"
#include "gym/vault/sealed_store.hpp"

namespace gym::rpc {

/// A node's blobs: on disk by content, sealed, downloaded once, and going on where an interrupted
/// download (or process) stopped; what has arrived of a blob is sealed, too. They come from the
/// network's mirrors, where it names any and they have the blob, in pieces that are checked one by
/// one; what these do not bring comes from the coordinator. Which mirrors there are is asked every
/// minute. Thread-safe for different roots.
class BlobCache {
  public:
    /// `coordinator` must outlive the cache. @param key of the node (vault::StoreKey::of()).
    /// @errors kIo.
    static Result<BlobCache> open(const std::filesystem::path& directory, Coordinator& coordinator,
                                  const vault::StoreKey& key);

    /// What fetch() received.
    struct Traffic {
        std::uint64_t mirror_bytes = 0;
        std::uint64_t peer_bytes = 0;  ///< from other nodes
        std::uint64_t coordinator_bytes = 0;
    };
    [[nodiscard]] Traffic traffic() const;
    /// What is known of the mirrors.
    [[nodiscard]] std::vector<mirror::SourceReport> sources() const;

    /// Whether other nodes are likely to fetch the same blob now.
    enum class Audience : std::uint8_t { kFew, kMany };
    /// Blobs of many are fetched from these peers, too, and offered to them. @param swarm must
    /// outlive the cache.
    void share_through(mirror::Swarm& swarm) { swarm_ = &swarm; }

    using Progress = std::function<void(std::uint64_t received_bytes, std::uint64_t size_bytes)>;
    /// The blob from disk, from mirrors and peers, or from the coordinator, checked against `root`
    /// each way.
    /// @errors kMismatch if what the coordinator sends does not hash to `root`; kNotFound; kIo;
    /// those of the connection.
    Result<blob::VerifiedBlob> fetch(const Digest& root, const Progress& progress = {},
                                     Audience audience = Audience::kFew);
    [[nodiscard]] vault::SealedStore& store() { return store_; }
    /// Removes blobs that nobody fetched or stored for `idle`, but for those that are needed all
    /// the same, and what has arrived of downloads that nobody continued for so long.
    /// @return the bytes of the blobs. @errors kIo.
    Result<std::uint64_t> remove_idle(std::chrono::milliseconds idle,
                                      FunctionRef<bool(const Digest&)> needs);
    /// The folder of open(): for what is kept about its blobs.
    [[nodiscard]] std::filesystem::path directory() const { return partial_.parent_path(); }

  private:
    struct Mirrors;
    BlobCache(vault::SealedStore store, std::filesystem::path partial, Coordinator& coordinator);
    /// Absent: no mirror has it, and the coordinator is to be asked.
    std::optional<Result<blob::VerifiedBlob>> fetch_pieces(const Digest& root,
                                                           const Progress& progress,
                                                           Audience audience);
    Status download_pieces(mirror::Fetcher& mirrors, const blob::PieceList& list,
                           const std::filesystem::path& path, const Progress& progress,
                           mirror::Peers* peers);
    Status download(const Digest& root, const std::filesystem::path& path,
                    const Progress& progress);

    vault::SealedStore store_;
    std::filesystem::path partial_;
    Coordinator* coordinator_;
    std::shared_ptr<Mirrors> mirrors_;
    mirror::Swarm* swarm_ = nullptr;
};

}  // namespace gym::rpc
