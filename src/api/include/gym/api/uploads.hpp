#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>

#include "gym/api/backend.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"
#include "gym/vault/sealed_file.hpp"

namespace gym::api {

/// The files of uploads, sealed: FOLDER/OWNER/ROOT. With the key and on the file system of the blob
/// store, a job's submission links them instead of copying them. Thread-safe.
class UploadFiles {
  public:
    UploadFiles(std::filesystem::path folder, const vault::StoreKey& key)
        : folder_(std::move(folder)), key_(std::make_shared<const vault::StoreKey>(key.clone())) {}
    /// What was received of a blob.
    [[nodiscard]] std::filesystem::path of(const Address& owner, const Digest& root) const;
    [[nodiscard]] std::filesystem::path lock_of(const Address& owner, const Digest& root) const;
    /// Creates the owner's folder. @errors kIo.
    [[nodiscard]] Status prepare(const Address& owner) const;
    /// Bytes that are there.
    [[nodiscard]] std::uint64_t received(const Address& owner, const Digest& root) const;
    /// A writer behind what is there; from the beginning where that is of no use, such as after a
    /// change of the key. @errors kIo; kOutOfRange for a disk that is full.
    [[nodiscard]] Result<vault::SealWriter> append_to(const Address& owner, const Digest& root,
                                                      std::uint64_t size_bytes) const;
    /// The whole blob. @errors as vault::open_sealed().
    [[nodiscard]] Result<std::unique_ptr<const blob::BlobReader>> open(const Address& owner,
                                                                       const Digest& root) const;
    void remove(const Address& owner, const Digest& root) const;
    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  private:
    std::filesystem::path folder_;
    std::shared_ptr<const vault::StoreKey> key_;  ///< shared by copies
};

struct UploadLimits {
    std::uint64_t bytes_max = std::uint64_t{64} << 30;          ///< of a blob
    std::uint64_t owner_bytes_max = std::uint64_t{64} << 30;    ///< of all uploads of an owner
    std::uint64_t owner_uploads_max = 1'000;                    ///< of an owner, at one time
    std::int64_t keep_ms = std::int64_t{7} * 24 * 3600 * 1000;  ///< since the last part
};

/// Uploads in files, with a row each in PostgreSQL (role gym_api; api.upload). References must
/// outlive it. Several processes may share folder and database.
class PostgresUploads final : public Uploads {
  public:
    PostgresUploads(db::Database& database, UploadFiles files, const Clock& clock,
                    UploadLimits limits = {});
    ~PostgresUploads() override;

    Result<std::shared_ptr<UploadSink>> begin(const UploadPart& part) override;
    Result<Upload> upload(const Address& owner, const Digest& root) override;
    Result<Upload> forget(const Address& owner, const Digest& root) override;

  private:
    struct Impl;
    std::shared_ptr<Impl> impl_;  // shared with the sinks of connections that outlive a request
};

}  // namespace gym::api
