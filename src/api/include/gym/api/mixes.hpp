#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "gym/api/backend.hpp"
#include "gym/api/postgres.hpp"
#include "gym/blob/blob_store.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"

namespace gym::api {

struct MixLimits {
    std::uint64_t bytes_max = std::uint64_t{256} << 20;      ///< of a mix's token file
    std::uint64_t parts_bytes_max = std::uint64_t{4} << 30;  ///< of all of its parts' files
    std::size_t waiting_max = 16;                            ///< mixes that wait for their turn
};

/// Mixes that a thread of its own makes, one after the other, in constant memory: copies the parts
/// out of the blob store, mixes them (data::mix), stores token file and manifest, and registers the
/// mix with its parts (PostgreSQL, role gym_api). `folder`, on the file system of the blob store,
/// holds the files meanwhile; it belongs to this process alone. References must outlive it.
class PostgresMixes final : public Mixes {
  public:
    PostgresMixes(db::Database& database, blob::BlobStore& blobs, const Clock& clock,
                  std::filesystem::path folder, const PostgresBackend::Options& options,
                  MixLimits limits = {});
    /// Ends after the mix that is being made; those that wait are forgotten.
    ~PostgresMixes() override;

    Result<MixProgress> mix(const MixOrder& order) override;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::api
