#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/game/evidence.hpp"
#include "gym/protocol/unit.hpp"

/// Units that a node stands by, or calls wrong: what it must not forget to play their games.
namespace gym::player {

enum class Role : std::uint8_t { kDefend = 1, kChallenge = 2 };

struct Claim {
    Role role = Role::kDefend;
    protocol::UnitKey key;
    game::Evidence evidence;
    // Blobs of the unit's inputs.
    Digest program_blob;
    Digest dataset_blob;
    Digest base_state_blob;
    std::uint64_t from_block = 0;   ///< games about it are not earlier; 0: not known
    std::uint64_t epoch_block = 0;  ///< that holds the epoch's root; 0: not known, no path yet
    Digest salt;                    ///< of the challenger's announcement; else zero
    friend bool operator==(const Claim&, const Claim&) = default;
};

[[nodiscard]] Bytes encode(const Claim& claim);
/// @errors kMalformed.
[[nodiscard]] Result<Claim> decode_claim(ByteView bytes);

/// Claims on disk, one file each, written (fsync, rename) before anything is sent. Thread-safe: one
/// thread works on units and another one plays.
class ClaimStore {
  public:
    using Shared = std::shared_ptr<const Claim>;
    /// Reads every claim. @errors kIo; kMalformed naming a damaged file.
    static Result<std::unique_ptr<ClaimStore>> open(const std::filesystem::path& directory);

    /// Adds or replaces the claim on its unit. @errors kIo.
    Status save(const Claim& claim);
    /// @errors kIo.
    Status remove(const protocol::UnitKey& key);
    [[nodiscard]] std::vector<Shared> list() const;
    /// The newest block that the player has seen; 0 before the first. What is signed now is in no
    /// game before it.
    void note_head(std::uint64_t block) { head_ = block; }
    [[nodiscard]] std::uint64_t head() const { return head_; }
    /// Whether a claim's unit is computed from this blob.
    [[nodiscard]] bool needs(const Digest& blob) const;

  private:
    explicit ClaimStore(std::filesystem::path directory) : directory_(std::move(directory)) {}
    [[nodiscard]] std::filesystem::path path_of(const protocol::UnitKey& key) const;
    const std::filesystem::path directory_;
    mutable std::mutex mutex_;
    std::vector<Shared> claims_;
    std::atomic<std::uint64_t> head_ = 0;
};

}  // namespace gym::player
