#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/round_record.hpp"

namespace gym::verifier {

/// A round whose aggregate this verifier was shown: the next round's record must continue from it.
struct WatchedRound {
    protocol::RoundRecord record;
    protocol::SignedCommitment commitment;        ///< to its aggregate
    std::vector<protocol::IncludedDelta> deltas;  ///< that it was made from, by slot

    [[nodiscard]] protocol::UnitKey unit() const {
        return {record.job_id, record.round, commitment.commitment.slot,
                commitment.commitment.attempt};
    }
    friend bool operator==(const WatchedRound&, const WatchedRound&) = default;
};

[[nodiscard]] Bytes encode(const WatchedRound& round);
/// @errors kMalformed.
[[nodiscard]] Result<WatchedRound> decode_watched_round(ByteView bytes);

/// Contradiction in the next record. `conflict`: that contradiction wins a game on chain.
struct NextRecordAudit {
    std::vector<std::string> contradictions;  ///< one sentence each
    bool conflict = false;
};
/// Pure. @param next the record whose hash is on chain for the round after, canonical or not.
[[nodiscard]] NextRecordAudit audit_next_record(const WatchedRound& round, ByteView next);

/// Rounds on disk until their next record was looked at; a job's last round has none, so the oldest
/// go beyond kRoundsMax. Not thread-safe.
class RoundWatch {
  public:
    static constexpr std::size_t kRoundsMax = 16;

    /// @errors kIo; kMalformed naming a damaged file.
    static Result<RoundWatch> open(const std::filesystem::path& directory);
    /// Keeps what was shown first of a round. @return that. @errors kIo.
    Result<WatchedRound> add(const WatchedRound& round);
    /// @errors kIo.
    Status remove(const protocol::UnitKey& unit);
    [[nodiscard]] const std::vector<WatchedRound>& list() const { return rounds_; }

  private:
    explicit RoundWatch(std::filesystem::path directory) : directory_(std::move(directory)) {}
    [[nodiscard]] std::filesystem::path path_of(const protocol::UnitKey& unit) const;
    std::filesystem::path directory_;
    std::vector<WatchedRound> rounds_;  ///< oldest first
};

}  // namespace gym::verifier
