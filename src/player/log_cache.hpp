#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "gym/chain/client.hpp"

namespace gym::player {

/// A cache of logs that every tick asks for. Those below the last chain::kReorgBlocks blocks are
/// read once, compared with their blocks, and kept, so that a node that lags or leaves logs out
/// does not have a game lost; if such a block is replaced after all, everything is read again.
/// Nothing is on disk: a new process reads from the first block. Not thread-safe.
class LogCache {
  public:
    using Topics = std::vector<std::optional<Digest>>;  ///< as in chain::LogQuery

    /// @param client must outlive the cache.
    explicit LogCache(chain::ChainClient& client) : client_(client) {}

    /// Sets the head up to which read() reads. The first step of every tick. Drops logs not asked
    /// for at the head before. @errors as ChainClient.
    Status follow(const chain::BlockHeader& head);
    /// As chain::find_all_logs() from `first_block` to the head of follow(). @errors as it, and
    /// as chain::check_logs() for those that it would keep: they are read again in the next tick.
    [[nodiscard]] Result<std::vector<chain::Log>> read(const Address& address, const Topics& topics,
                                                       std::uint64_t first_block);

  private:
    struct Block {
        std::uint64_t number = 0;
        Digest hash;
    };
    /// Logs of blocks [first, next).
    struct Kept {
        std::uint64_t first = 0;
        std::uint64_t next = 0;
        std::vector<chain::Log> logs;
        bool asked = false;  ///< at this head
    };
    [[nodiscard]] Result<std::optional<Block>> find(std::uint64_t number);
    void drop_unasked();

    chain::ChainClient& client_;
    std::optional<Block> head_;
    std::optional<Block> settled_;  ///< the newest block whose logs are kept
    std::map<std::pair<Address, Topics>, Kept> kept_;
};

}  // namespace gym::player
