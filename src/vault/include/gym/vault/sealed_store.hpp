#pragma once

#include <filesystem>
#include <memory>

#include "gym/blob/blob_folder.hpp"
#include "gym/blob/directory_store.hpp"
#include "gym/vault/store_key.hpp"

namespace gym::vault {

/// A DirectoryStore whose files are sealed (sealed_file.hpp): DIR/ab/cd/abcd....sealed by root.
/// Files of a DirectoryStore in the same folder stay readable; what is stored anew is sealed and
/// takes their place. Several processes with the same key may share one directory. Thread-safe.
class SealedStore final : public blob::BlobStore {
  public:
    /// Creates the directory if needed. @errors kIo.
    [[nodiscard]] static Result<SealedStore> open(const std::filesystem::path& directory,
                                                  const StoreKey& key);
    /// The store of a network: with the key of `key_file`, or where that is empty, of the file
    /// DIR.key beside the directory, which is made if there is none. @errors also those of
    /// StoreKey::load(); kNotFound where DIR.key is missing and blobs are sealed already.
    [[nodiscard]] static Result<SealedStore> open(const std::filesystem::path& directory,
                                                  const std::filesystem::path& key_file);

    /// Of a sealed blob: decrypts piece by piece. @errors also kMismatch: altered, or sealed with
    /// another key.
    [[nodiscard]] Result<std::unique_ptr<const blob::BlobReader>> open_reader(
        const Digest& root) const override;
    [[nodiscard]] Result<bool> has(const Digest& root) const override;
    Status remove(const Digest& root) override;
    Result<bool> hold(const Digest& root) override;
    [[nodiscard]] Result<std::vector<blob::StoredBlob>> list_idle(
        std::uint8_t first, std::chrono::milliseconds idle) override;
    Result<bool> erase(const blob::StoredBlob& blob) override;
    /// A link to the file of a reader that open_sealed() made with this store's key, on the same
    /// file system; other readers' bytes are sealed piece by piece.
    Status adopt(const Digest& root, const blob::BlobReader& reader) override;
    /// Takes a complete sealed file of this key over, moving it, once its bytes have the root.
    /// @errors kMismatch: they have not, or it is not such a file; kIo.
    [[nodiscard]] Result<blob::VerifiedBlob> adopt_sealed(const Digest& root,
                                                          const std::filesystem::path& file);
    /// Where a blob lives or would live.
    [[nodiscard]] std::filesystem::path path_of(const Digest& root) const;
    [[nodiscard]] const StoreKey& key() const { return *key_; }

  protected:
    Status write(const Digest& root, ByteView content) override;
    [[nodiscard]] Result<Bytes> read(const Digest& root) const override;

  private:
    SealedStore(blob::BlobFolder folder, blob::DirectoryStore plain,
                std::shared_ptr<const StoreKey> key)
        : folder_(std::move(folder)), plain_(std::move(plain)), key_(std::move(key)) {}
    [[nodiscard]] Result<std::filesystem::path> place_for(const Digest& root) const;
    Status put_in_place(const Digest& root, const std::filesystem::path& file);

    blob::BlobFolder folder_;
    blob::DirectoryStore plain_;
    std::shared_ptr<const StoreKey> key_;  ///< shared by copies of the store
};

}  // namespace gym::vault
