#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/registry/games.hpp"

namespace gym::coordinator {

struct EpochPost {
    std::uint64_t epoch = 0;
    Digest job_id;
    std::uint64_t round = 0;
    Digest commitments_root;
    std::uint32_t count = 0;

    friend bool operator==(const EpochPost&, const EpochPost&) = default;
};

/// A round's record, and where its base state is from.
struct RoundPost {
    Digest job_id;
    std::uint64_t round = 0;
    Digest record_hash;
    Bytes head;    ///< of the record
    Bytes origin;  ///< contracts::CommitmentLog::RoundHead

    friend bool operator==(const RoundPost&, const RoundPost&) = default;
};

/// The aggregate of a round: what made the base state of the next one.
struct AggregatePost {
    Digest job_id;
    std::uint64_t round = 0;
    Digest unit;       ///< the chain's name for it, game::unit_of()
    Bytes commitment;  ///< signed

    friend bool operator==(const AggregatePost&, const AggregatePost&) = default;
};

/// New events in games about units.
struct GameNews {
    std::uint64_t seen_block = 0;               ///< everything up to it is in
    std::uint64_t window_blocks = 0;            ///< after an epoch's root in which games are opened
    std::vector<registry::DisputedUnit> units;  ///< as they are now
};

/// Commitments that somebody published on chain.
struct CommitmentNews {
    struct Item {
        Bytes commitment;  ///< whatever bytes were published
        std::uint64_t block = 0;
    };
    std::uint64_t seen_block = 0;  ///< everything up to it is in
    bool is_all = true;            ///< there is no newer block to read
    std::vector<Item> published;   ///< in the order of the chain
};

/// The coordinator's view of the chain. Posting is asynchronous and idempotent: repeat it until
/// the matching query answers. Queries see only blocks that are deep enough for the deployment's
/// taste (its confirmations). Every method: @errors kUnavailable or kTimeout when the chain does
/// not answer (try again later), kConflict when the chain holds other content under the same name
/// (a person has to look).
class ChainPort {
  public:
    virtual ~ChainPort() = default;

    /// With it goes the aggregate of the round before, if there is one.
    virtual Status post_round(const RoundPost& record) = 0;
    /// Of a round that no other one follows.
    virtual Status post_aggregate(const AggregatePost& aggregate) = 0;
    virtual Status post_epoch(const EpochPost& epoch) = 0;
    /// Pushes what was posted and not mined (fees, repeats).
    virtual Status tick() = 0;

    /// Whether the round's record hash is on chain.
    [[nodiscard]] virtual Result<bool> round_posted(const Digest& job_id, std::uint64_t round,
                                                    const Digest& record_hash) = 0;
    /// The block that holds the aggregate, from which the window of games about it counts; absent
    /// until then.
    [[nodiscard]] virtual Result<std::optional<std::uint64_t>> aggregate_block(
        const AggregatePost& aggregate) = 0;
    /// The block that holds the epoch's root; absent while it is on its way.
    [[nodiscard]] virtual Result<std::optional<std::uint64_t>> epoch_block(
        const EpochPost& epoch) = 0;
    /// The round of a drand chain that draws the units of an epoch that is on chain; absent where
    /// prevrandao draws, which is all that a port without an answer of its own knows.
    [[nodiscard]] virtual Result<std::optional<std::uint64_t>> drand_round(
        const EpochPost& /*epoch*/) {
        return std::optional<std::uint64_t>();
    }
    /// From an epoch's block until the round that draws its units has begun, at most; absent where
    /// prevrandao draws.
    [[nodiscard]] virtual Result<std::optional<std::int64_t>> drand_delay_ms() {
        return std::optional<std::int64_t>();
    }
    /// prevrandao of a block; absent while the chain has not come so far.
    [[nodiscard]] virtual Result<std::optional<Digest>> randomness(std::uint64_t block) = 0;
    /// The randomness of a drand round, once it is proven on chain; a port brings the proof there
    /// if it can. Absent until then. @errors also kUnavailable: no relay gives it.
    [[nodiscard]] virtual Result<std::optional<Digest>> drand_randomness(std::uint64_t /*round*/) {
        return std::optional<Digest>();
    }

    /// Commitments that were published behind `seen_block`; those before it come again as far as a
    /// reorganisation reaches. Absent: there is no block behind it yet. @param seen_block absent:
    /// begin with the newest block.
    [[nodiscard]] virtual Result<std::optional<CommitmentNews>> commitments_since(
        const std::optional<std::uint64_t>& seen_block) = 0;

    /// The contract in which this network plays games; absent: it plays none.
    [[nodiscard]] virtual std::optional<Address> dispute_game() const = 0;
    /// Blocks from the one in which these queries show an epoch's root until the last one in which
    /// a game about one of its units can be announced, to be opened in time. Absent: this network
    /// plays no games.
    [[nodiscard]] virtual Result<std::optional<std::uint64_t>> disputable_blocks() = 0;
    /// Units with something new behind `seen_block`. The blocks before it are looked at again as
    /// far as a reorganisation reaches; for what a deeper one took, a few of `open` are in as well,
    /// in turns, however little happened to them. Absent: there is no block behind it yet.
    /// @param seen_block absent: begin with the newest block. @param open units in games, as far as
    /// is known.
    [[nodiscard]] virtual Result<std::optional<GameNews>> games_since(
        const std::optional<std::uint64_t>& seen_block, const std::vector<Digest>& open) = 0;
};

}  // namespace gym::coordinator
