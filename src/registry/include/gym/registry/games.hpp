#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"

/// The chain's games about units (schema registry, "Games on chain" in
/// sql/migrations/0020_registry.sql).
namespace gym::registry {

/// How far the games of a DisputeGame have been read.
struct GameWatch {
    Address contract;
    std::uint64_t seen_block = 0;     ///< everything up to this block is known
    std::uint64_t window_blocks = 0;  ///< behind window_block() of a unit, for games about it

    /// Whether a game about a unit whose window begins in `from_block` can still be opened, as far
    /// as is known.
    [[nodiscard]] bool is_window_open(std::uint64_t from_block) const noexcept {
        return seen_block <= from_block + window_blocks;
    }
};

/// A unit by the chain's name for it (game::unit_of): perhaps one that the registry does not have.
struct DisputedUnit {
    Digest name;
    Address asserter;              ///< its signer; zero: the chain knows no game about it
    std::uint64_t open_games = 0;  ///< games that are played now
    bool faulty = false;           ///< a fault is proven, or the asserter's clock ran out
    /// No game that is open now was opened before it; absent: not known, or there is no new game.
    std::optional<std::uint64_t> opened_block = std::nullopt;
    bool asks_data = false;  ///< the games are about withheld data, as far as is known
    friend bool operator==(const DisputedUnit&, const DisputedUnit&) = default;
};

/// Absent: nothing was read yet.
Result<std::optional<GameWatch>> find_game_watch(db::Transaction& tx, const Address& contract);
/// The least block of an epoch's root in which a unit is not decided; absent if there is none.
Result<std::optional<std::uint64_t>> first_open_epoch_block(db::Transaction& tx);
/// The aggregate of the round is on chain, since that block. @errors kConflict for another block.
Status set_aggregate_block(db::Transaction& tx, const Digest& job_id, std::uint64_t round,
                           std::uint64_t block);
/// Of a round whose aggregate is signed and not known to be on chain: the unit's id.
Result<std::optional<Digest>> unposted_aggregate(db::Transaction& tx, const Digest& job_id,
                                                 std::uint64_t round);
/// The block that begins the window of a unit: that of its epoch's root or, of an aggregate, the
/// later one of that and its own. Absent until it is there. @errors kNotFound.
Result<std::optional<std::uint64_t>> window_block(db::Transaction& tx, const Digest& unit);
/// Stores what was read up to `watch.seen_block`: of each unit as it is there. A unit without
/// asserter is forgotten: a reorganisation took its games. Of a unit that stays in games the first
/// `opened_block` stays.
/// @return false, and nothing is stored, if as much was read before.
Result<bool> store_games(db::Transaction& tx, const GameWatch& watch,
                         const std::vector<DisputedUnit>& units);

Result<std::optional<DisputedUnit>> find_disputed_unit(db::Transaction& tx, const Address& contract,
                                                       const Digest& name);
/// Units about which games are open, in the order of their names.
Result<std::vector<DisputedUnit>> units_in_games(db::Transaction& tx, const Address& contract);
/// Faults whose consequences the registry has not taken yet, in the order of their names.
Result<std::vector<DisputedUnit>> new_faults(db::Transaction& tx, const Address& contract);
/// @return false if they were taken before.
Result<bool> mark_fault_handled(db::Transaction& tx, const Address& contract, const Digest& name,
                                UnixMs now_ms);

}  // namespace gym::registry
