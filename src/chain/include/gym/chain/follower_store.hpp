#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::chain {

/// A log's identity for ever: a reorg gives the same event another block hash, so another key.
struct LogKey {
    std::uint64_t chain_id = 0;
    Digest block_hash;
    std::uint32_t log_index = 0;

    /// A digest of the three, to derive ids of postings from.
    [[nodiscard]] Digest digest() const;
    friend auto operator<=>(const LogKey&, const LogKey&) = default;
};

struct FollowedBlock {
    std::uint64_t number = 0;
    Digest hash;
    Digest parent_hash;
    std::uint64_t timestamp_s = 0;
    friend bool operator==(const FollowedBlock&, const FollowedBlock&) = default;
};

struct BlockWithLogs {
    FollowedBlock block;
    std::vector<Log> logs;
};

/// Durable memory of one follower (one name on one chain). Every method is one atomic, durable
/// step. Every method: @errors kUnavailable, kTimeout, kIo of the store.
class FollowerStore {
  public:
    virtual ~FollowerStore() = default;

    /// The highest block that is not orphaned.
    [[nodiscard]] virtual Result<std::optional<FollowedBlock>> tip() = 0;
    /// The block of that number that is not orphaned.
    [[nodiscard]] virtual Result<std::optional<FollowedBlock>> canonical(std::uint64_t number) = 0;
    /// The highest block known to be finalized.
    [[nodiscard]] virtual Result<std::optional<FollowedBlock>> finalized() = 0;
    /// Adds blocks on top of the tip, in order, with their logs. A block that was orphaned before
    /// is canonical again. @errors kConflict if the first does not follow the tip.
    virtual Status append(const std::vector<BlockWithLogs>& blocks) = 0;
    /// Marks every canonical block with number >= `first` as orphaned. Nothing is deleted.
    /// @errors kConflict if one of them is finalized.
    virtual Status orphan_from(std::uint64_t first) = 0;
    /// Moves the finalized mark up to `block`. @errors kConflict if it is not the canonical block
    /// or lower.
    virtual Status finalize(const FollowedBlock& block) = 0;
    /// Logs of finalized blocks not delivered yet, in chain order. At most `limit`.
    [[nodiscard]] virtual Result<std::vector<Log>> undelivered(std::uint32_t limit) = 0;
    /// Logs of canonical blocks that are not finalized: what is seen and may still vanish. At most
    /// `limit`.
    [[nodiscard]] virtual Result<std::vector<Log>> unfinalized(std::uint32_t limit) = 0;
    virtual Status mark_delivered(const std::vector<LogKey>& keys) = 0;
};

}  // namespace gym::chain
