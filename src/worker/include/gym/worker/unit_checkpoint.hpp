#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "gym/blob/blob_store.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/common/save_pace.hpp"
#include "gym/engine/unit.hpp"
#include "gym/vault/store_key.hpp"

namespace gym::worker {

/// Identity of a saved position: it fits no other unit, program, dataset or base
/// state.
struct CheckpointKey {
    Digest unit;
    engine::UnitSpec spec;
};

/// A digest of every field of `spec`.
[[nodiscard]] Digest digest_of(const engine::UnitSpec& spec);

/// The content of a checkpoint file: header, its SHA-256, the state's canonical bytes. The header
/// has the root of the state as it was where the state is trained, so that a bit that flipped since
/// then, in the host's memory or on the disk, is found.
/// @errors kMalformed for a torn file or an altered header; kMismatch for another unit's, or a
/// state of another root.
[[nodiscard]] Result<engine::UnitPosition> decode_checkpoint(const CheckpointKey& key,
                                                             const blob::BlobReader& file,
                                                             unsigned threads);

/// Positions of unfinished units on disk, one file a unit, of nodes sealed
/// (vault/sealed_file.hpp). Losing or damaging a file costs time,
/// never correctness: it is checked when read, and the unit begins again. Not thread-safe.
class CheckpointStore {
  public:
    /// A worker has one unit at a time; a few more for jobs that take turns.
    static constexpr std::size_t kFilesMax = 3;

    /// Removes what a killed process left half written. @errors kIo.
    /// @param key of the node; nullptr: the files are not sealed, for runs whose inputs lie beside
    /// them in the clear.
    static Result<CheckpointStore> open(const std::filesystem::path& directory,
                                        const vault::StoreKey* key);

    /// Where the unit stood; nothing when it was never saved. A damaged or foreign file is removed,
    /// and the log says why.
    [[nodiscard]] std::optional<engine::UnitPosition> load(const CheckpointKey& key,
                                                           unsigned threads);
    /// Replaces the unit's file (fsync, rename). Keeps the newest kFilesMax files. Takes no memory
    /// for another copy of the state. @param state_root of the state, computed where it is trained.
    /// @errors kIo.
    Status save(const CheckpointKey& key, const engine::State& state, const Digest& state_root,
                std::span<const engine::StepRecord> records);
    /// Forgets a unit: it is finished. A file that cannot be removed does no harm.
    void remove(const Digest& unit);
    [[nodiscard]] std::filesystem::path path_of(const Digest& unit) const;

  private:
    CheckpointStore(std::filesystem::path directory, std::optional<vault::StoreKey> key)
        : directory_(std::move(directory)), key_(std::move(key)) {}
    [[nodiscard]] Result<std::unique_ptr<const blob::BlobReader>> open_file(
        const Digest& unit) const;
    Status write(const Digest& unit, std::span<const ByteView> parts) const;
    void keep_newest();
    std::filesystem::path directory_;
    std::optional<vault::StoreKey> key_;
};

/// Decides after every step whether to save: every `every`, and at once when the node is stopping,
/// but never so often that saving takes more than a twentieth of the time. A disk that refuses
/// (full) costs one line in the log, not the unit.
class CheckpointPlan {
  public:
    /// `store` must outlive the plan.
    CheckpointPlan(CheckpointStore& store, const CheckpointKey& key,
                   std::chrono::milliseconds every, std::stop_token stop);
    void after_step(const engine::Trainer& trainer, std::span<const engine::StepRecord> records);

  private:
    using SteadyClock = std::chrono::steady_clock;
    Status save(const engine::Trainer& trainer, std::span<const engine::StepRecord> records);
    CheckpointStore& store_;
    const CheckpointKey key_;
    const std::stop_token stop_;
    SavePace pace_;
    bool refused_ = false;
};

}  // namespace gym::worker
