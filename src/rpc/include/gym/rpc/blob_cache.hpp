#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/rpc/coordinator.hpp"
#include "gym/vault/sealed_store.hpp"

namespace gym::rpc {

/// A node's blobs: on disk by content, sealed, downloaded once, and going on where an interrupted
/// download (or process) stopped; what has arrived of a blob is sealed, too. Thread-safe for
/// different roots.
class BlobCache {
  public:
    /// `coordinator` must outlive the cache. @param key of the node (vault::StoreKey::of()).
    /// @errors kIo.
    static Result<BlobCache> open(const std::filesystem::path& directory, Coordinator& coordinator,
                                  const vault::StoreKey& key);

    using Progress = std::function<void(std::uint64_t received_bytes, std::uint64_t size_bytes)>;
    /// The blob from disk or from the coordinator, checked against `root` either way.
    /// @errors kMismatch if what the coordinator sends does not hash to `root`; kNotFound; kIo;
    /// those of the connection.
    Result<blob::VerifiedBlob> fetch(const Digest& root, const Progress& progress = {});
    [[nodiscard]] vault::SealedStore& store() { return store_; }

  private:
    BlobCache(vault::SealedStore store, std::filesystem::path partial, Coordinator& coordinator)
        : store_(std::move(store)), partial_(std::move(partial)), coordinator_(&coordinator) {}
    Status download(const Digest& root, const std::filesystem::path& path,
                    const Progress& progress);

    vault::SealedStore store_;
    std::filesystem::path partial_;
    Coordinator* coordinator_;
};

}  // namespace gym::rpc
