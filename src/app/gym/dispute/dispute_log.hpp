#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/common/result.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/player/game_log.hpp"
#include "gym/protocol/unit.hpp"

/// Disputes as the chain records them, without any other source.
namespace gym::app {

struct GameLog {
    contracts::Opened opened;
    /// Everything that happened in the game, in order: from its announcement to its end.
    std::vector<player::LoggedEvent> course;
    std::optional<contracts::FaultFound> fault;
    std::optional<contracts::GameEnded> ended;
    Amount gas_paid_wei;  ///< from the challenger's escrow to the asserter
    /// The unit that the opening names; absent if it cannot be read.
    std::optional<protocol::UnitKey> key;

    [[nodiscard]] const Digest& id() const { return opened.game; }
    [[nodiscard]] const Digest& chain_unit() const { return opened.unit; }
    /// The unit's name in the registry, the API and the ledger.
    [[nodiscard]] std::optional<Digest> registry_unit() const;
};

struct UnitLog {
    std::optional<contracts::UnitFaulty> faulty;  ///< the last: names the rewarded side
    std::optional<contracts::UnitSettled> settled;
    std::optional<Digest> settled_in;  ///< transaction
};

/// Every game that was opened, oldest first, and what became of their units.
struct DisputeLog {
    std::vector<GameLog> games;
    std::map<Digest, UnitLog> units;  ///< by their name on chain
};

/// The one game whose id, or the id of whose unit (on chain, or the registry's), is or begins with
/// `wanted`.
/// @errors kInvalidArgument: no such thing as an id, or several games; kNotFound.
[[nodiscard]] Result<const GameLog*> find_game(const DisputeLog& log, const std::string& wanted);

/// The events of a game that were shown already.
class ShownEvents {
  public:
    /// The index of the first new event; all after it are new, too, and then count as shown. A
    /// reorganisation can put other transactions, as many or more, in the place of shown ones:
    /// those are new.
    [[nodiscard]] std::size_t take(const GameLog& game);

  private:
    std::vector<Digest> shown_;  ///< transactions of events, in the chain's order
};

/// Follows the logs of one DisputeGame contract.
class DisputeReader {
  public:
    /// `client` must outlive the reader.
    DisputeReader(chain::ChainClient& client, const contracts::Deployment& contracts)
        : client_(client), game_(contracts.dispute_game), next_block_(contracts.start_block) {}

    /// The chain's present state; reads again only what a reorganisation could change.
    /// @errors as ChainClient, kMalformed.
    [[nodiscard]] Result<DisputeLog> read();
    /// Cost of both sides' transactions; requests each receipt once. @errors as gas_of().
    [[nodiscard]] Result<player::GameCost> cost_of(const GameLog& game);
    /// Gas of one of them. @errors as ChainClient; kUnavailable: a reorganisation took it back.
    [[nodiscard]] Result<std::uint64_t> gas_of(const Digest& transaction);

  private:
    Result<std::vector<player::LoggedEvent>> read_blocks(std::uint64_t first, std::uint64_t last);

    chain::ChainClient& client_;
    contracts::DisputeGame game_;
    std::uint64_t next_block_;  ///< everything before is final and in final_
    std::vector<player::LoggedEvent> final_;
    std::map<Digest, std::uint64_t> final_gas_;
    std::map<Digest, std::uint64_t> recent_gas_;  ///< since the last read()
};

/// A game with the contract's view of it now.
struct GameNow {
    game::GameState game;
    contracts::DisputeGame::Clocks clocks;
    game::UnitState unit;
    std::optional<contracts::Slashed> slashed;
};
/// @errors as ChainClient.
[[nodiscard]] Result<GameNow> game_now(chain::ChainClient& client,
                                       const contracts::Deployment& contracts, const GameLog& game,
                                       const UnitLog& unit);

}  // namespace gym::app
