#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/chain/follower_store.hpp"

namespace gym::chain {

struct FollowerOptions {
    std::uint64_t chain_id = 0;
    std::uint64_t start_block = 0;  ///< first block to look at: where the contracts were deployed
    LogFilter filter;
    /// Rebuild each block's receipts root, so that a node cannot leave a log out unnoticed. Off
    /// only for chains whose receipts have fields of their own.
    bool verify_receipts = true;
    std::uint32_t blocks_per_tick_max = 512;
    std::uint32_t logs_per_tick_max = 1'000;  ///< delivered
};

struct FollowReport {
    std::uint32_t blocks_added = 0;
    std::uint32_t blocks_orphaned = 0;
    std::uint32_t logs_delivered = 0;
    std::uint64_t tip = 0;
    std::uint64_t finalized = 0;
    bool caught_up = false;  ///< the tip was the chain's head and nothing is undelivered
};

/// Called once per finalized log, in chain order. It may be called again for a log whose delivery a
/// crash cut off before it was noted: post under an id derived from the key, and a repeat changes
/// nothing. An error stops the tick; the same log comes again in the next.
using LogHandler = std::function<Status(const LogKey& key, const Log& log)>;

/// Follows a chain's logs by block hash. Each block must name the block before as its parent; a
/// block that left the chain is marked orphaned, with its logs; a log is delivered once its block
/// is finalized. Not thread-safe.
class LogFollower {
  public:
    /// References must outlive the follower. `filter.addresses` must not be empty.
    LogFollower(ChainClient& client, FollowerStore& store, FollowerOptions options,
                LogHandler handler);

    /// One bounded pass: leave orphaned blocks, add new ones, note finality, deliver.
    /// @errors kUnavailable, kTimeout (try later); kMismatch when the chain contradicts what was
    /// finalized, or a node serves logs that do not fit their block: nothing more is delivered
    /// until a person has looked.
    [[nodiscard]] Result<FollowReport> tick();

  private:
    Status check_finalized_kept();
    Status leave_orphans(FollowReport& report);
    Status add_blocks(std::uint64_t head, FollowReport& report);
    Status note_finality(const BlockHeader& finalized);
    Status deliver(FollowReport& report);
    [[nodiscard]] Result<std::vector<Log>> logs_of(const BlockHeader& header);
    [[nodiscard]] Result<std::vector<Log>> wanted_logs(const BlockHeader& header,
                                                       const std::vector<Log>& logs) const;

    ChainClient& client_;
    FollowerStore& store_;
    FollowerOptions options_;
    LogHandler handler_;
    bool chain_checked_ = false;
};

}  // namespace gym::chain
