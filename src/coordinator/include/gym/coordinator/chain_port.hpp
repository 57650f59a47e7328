#pragma once

#include <cstdint>
#include <optional>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::coordinator {

struct EpochPost {
    std::uint64_t epoch = 0;
    Digest job_id;
    std::uint64_t round = 0;
    Digest commitments_root;
    std::uint32_t count = 0;

    friend bool operator==(const EpochPost&, const EpochPost&) = default;
};

/// What the chain says of the games about a unit.
enum class GameVerdict : std::uint8_t {
    kOpen,    ///< one is played, or can still be opened
    kFaulty,  ///< a fault is proven, or the worker's clock ran out
    kUpheld,  ///< all ended for the worker, and none can be opened any more
    kNeverOpened,
};

/// What the coordinator needs of the chain. Posting is asynchronous and idempotent: repeat it until
/// the matching query answers. Queries see only blocks that are deep enough for the deployment's
/// taste (its confirmations). Every method: @errors kUnavailable or kTimeout when the chain does
/// not answer (try again later), kConflict when the chain holds other content under the same name
/// (a person has to look).
class ChainPort {
  public:
    virtual ~ChainPort() = default;

    virtual Status post_round(const Digest& job_id, std::uint64_t round,
                              const Digest& record_hash) = 0;
    virtual Status post_epoch(const EpochPost& epoch) = 0;
    /// Pushes what was posted and not mined (fees, repeats).
    virtual Status tick() = 0;

    /// Whether the round's record hash is on chain.
    [[nodiscard]] virtual Result<bool> round_posted(const Digest& job_id, std::uint64_t round,
                                                    const Digest& record_hash) = 0;
    /// The block that holds the epoch's root; absent while it is on its way.
    [[nodiscard]] virtual Result<std::optional<std::uint64_t>> epoch_block(
        const EpochPost& epoch) = 0;
    /// prevrandao of a block; absent while the chain has not come so far.
    [[nodiscard]] virtual Result<std::optional<Digest>> randomness(std::uint64_t block) = 0;

    /// How games about a commitment stand. Absent: this network plays no games.
    /// @param unit game::unit_of(). @param epoch_block that holds its epoch's root.
    [[nodiscard]] virtual Result<std::optional<GameVerdict>> games_about(
        const Digest& unit, std::uint64_t epoch_block) = 0;
};

}  // namespace gym::coordinator
