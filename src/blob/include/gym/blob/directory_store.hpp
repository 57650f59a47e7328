#pragma once

#include <filesystem>
#include <utility>

#include "gym/blob/blob_folder.hpp"
#include "gym/blob/blob_store.hpp"

namespace gym::blob {

/// The bytes of a file. @errors kNotFound; kIo, also if it is no regular file.
[[nodiscard]] Result<std::unique_ptr<const BlobReader>> open_file(
    const std::filesystem::path& path);

/// Blobs as files: DIR/ab/cd/abcd... by root, written through a temporary file, fsync and rename,
/// so that a crash leaves a whole blob or none. Several processes may share one directory.
/// Thread-safe.
class DirectoryStore final : public BlobStore {
  public:
    /// Creates the directory if needed. @errors kIo.
    static Result<DirectoryStore> open(const std::filesystem::path& directory);

    [[nodiscard]] Result<std::unique_ptr<const BlobReader>> open_reader(
        const Digest& root) const override;
    [[nodiscard]] Result<bool> has(const Digest& root) const override;
    Status remove(const Digest& root) override;
    Result<bool> hold(const Digest& root) override;
    [[nodiscard]] Result<std::vector<StoredBlob>> list_idle(
        std::uint8_t first, std::chrono::milliseconds idle) override;
    Result<bool> erase(const StoredBlob& blob) override;
    /// Where a blob lives or would live.
    [[nodiscard]] std::filesystem::path path_of(const Digest& root) const;

  protected:
    Status write(const Digest& root, ByteView content) override;
    [[nodiscard]] Result<Bytes> read(const Digest& root) const override;

  private:
    explicit DirectoryStore(std::filesystem::path directory) : folder_(std::move(directory)) {}
    BlobFolder folder_;
};

}  // namespace gym::blob
