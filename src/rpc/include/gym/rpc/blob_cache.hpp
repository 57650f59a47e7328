#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "gym/blob/directory_store.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/rpc/coordinator.hpp"

namespace gym::rpc {

/// A node's blobs: on disk by content, downloaded once, and going on where an interrupted download
/// (or process) stopped. Thread-safe for different roots.
class BlobCache {
  public:
    /// `coordinator` must outlive the cache. @errors kIo.
    static Result<BlobCache> open(const std::filesystem::path& directory, Coordinator& coordinator);

    using Progress = std::function<void(std::uint64_t received_bytes, std::uint64_t size_bytes)>;
    /// The blob from disk or from the coordinator, checked against `root` either way.
    /// @errors kMismatch if what the coordinator sends does not hash to `root`; kNotFound; kIo;
    /// those of the connection.
    Result<blob::VerifiedBlob> fetch(const Digest& root, const Progress& progress = {});
    [[nodiscard]] blob::DirectoryStore& store() { return store_; }

  private:
    BlobCache(blob::DirectoryStore store, std::filesystem::path partial, Coordinator& coordinator)
        : store_(std::move(store)), partial_(std::move(partial)), coordinator_(&coordinator) {}
    Status download(const Digest& root, const std::filesystem::path& path,
                    const Progress& progress);

    blob::DirectoryStore store_;
    std::filesystem::path partial_;
    Coordinator* coordinator_;
};

}  // namespace gym::rpc
