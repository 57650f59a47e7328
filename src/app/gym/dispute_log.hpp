#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/chain/deploy.hpp"
#include "gym/chain/dispute_contracts.hpp"
#include "gym/common/result.hpp"

/// Disputes as the chain tells them: nothing is asked of anybody else.
namespace gym::app {

/// A transaction of a game. Gas is known once it was asked for.
struct GameTransaction {
    Digest hash;
    Bytes call;  ///< the function's selector
    std::uint64_t block_number = 0;
    bool by_asserter = false;
    std::uint64_t gas_used = 0;
};

struct GameMove {
    chain::Moved event;
    Digest transaction;
    std::uint64_t block_number = 0;
};

struct GameLog {
    chain::Opened opened;
    std::uint64_t opened_block = 0;
    std::vector<GameMove> moves;
    std::optional<chain::FaultFound> fault;
    std::optional<chain::GameEnded> ended;
    /// Of announcement, opening, moves and proof, in order; who ended a game by its clock can be
    /// anybody.
    std::vector<GameTransaction> transactions;
    Amount gas_paid_wei;  ///< from the challenger's escrow to the asserter

    [[nodiscard]] const Digest& id() const { return opened.game; }
};

struct UnitLog {
    std::optional<chain::UnitFaulty> faulty;  ///< the last: who is rewarded
    std::optional<chain::UnitSettled> settled;
    std::optional<Digest> settled_in;  ///< transaction
};

/// Every game that was opened, oldest first, and what became of their units.
struct DisputeLog {
    std::vector<GameLog> games;
    std::map<Digest, UnitLog> units;
};

/// Follows the logs of one DisputeGame contract.
class DisputeReader {
  public:
    /// `client` must outlive the reader.
    DisputeReader(chain::ChainClient& client, const chain::Deployment& contracts)
        : client_(client), game_(contracts.dispute_game), next_block_(contracts.start_block) {}

    /// What the chain says now; reads again only what a reorganisation could change.
    /// @errors as ChainClient, kMalformed.
    [[nodiscard]] Result<DisputeLog> read();
    /// Fills in the gas of a game's transactions; asks for each once.
    Status read_gas(GameLog& game);

  private:
    struct Entry {
        chain::DisputeEvent event;
        Digest transaction;
        std::uint64_t block_number = 0;
    };
    Result<std::vector<Entry>> read_blocks(std::uint64_t first, std::uint64_t last);
    static void add(DisputeLog& log, const Entry& entry,
                    std::map<Digest, std::size_t>& index_of_game,
                    std::map<Digest, GameTransaction>& announcements);

    chain::ChainClient& client_;
    chain::DisputeGame game_;
    std::uint64_t next_block_;  ///< everything before is final and in final_
    std::vector<Entry> final_;
    std::map<Digest, std::uint64_t> gas_of_;
};

/// A game with the contract's view of it now.
struct GameNow {
    chain::DisputeGame::Game game;
    chain::DisputeGame::Clocks clocks;
    chain::DisputeGame::Unit unit;
    std::optional<chain::Slashed> slashed;
};
/// @errors as ChainClient.
[[nodiscard]] Result<GameNow> game_now(chain::ChainClient& client,
                                       const chain::Deployment& contracts, const GameLog& game,
                                       const UnitLog& unit);

}  // namespace gym::app
