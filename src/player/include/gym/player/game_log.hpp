#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/common/result.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/game/evidence.hpp"
#include "gym/game/transcript.hpp"

/// Games rebuilt from the chain's logs. Nothing else is remembered of them, so a player that was
/// killed knows after a look what it knew before.
namespace gym::player {

struct LoggedEvent {
    contracts::DisputeEvent event;
    Digest transaction;
    std::uint64_t block_number = 0;
};

struct GameRecord {
    Digest id;
    Digest unit;
    Address asserter;
    Address challenger;
    /// As far as the logs go; absent for a game that its opening decided.
    std::optional<game::GameTranscript> transcript;
    /// Why the logs of this game could not be followed; then it has no transcript. Others are not
    /// touched.
    std::string unreadable;
    std::optional<contracts::FaultFound> fault;
    std::optional<contracts::GameEnded> ended;
};

/// The games of one unit, in the order of their opening.
struct UnitLog {
    std::vector<GameRecord> games;
    /// The asserter's answers by the hash of the cursor that they answer: they serve every game.
    std::map<Digest, game::Move> answers;

    /// Plays known answers until the transcript is where the chain says that its game is.
    /// @errors kMismatch if they do not lead there: the position is of another block.
    Status follow(game::GameTranscript& transcript, const Digest& position) const;
};

/// Pure. @param events of one unit, in the chain's order. @param epochs of its round and of the one
/// before: games about aggregates cannot be read without.
[[nodiscard]] UnitLog replay(std::span<const LoggedEvent> events,
                             const std::optional<game::EpochRoots>& epochs = std::nullopt);

/// Decodes the contract's logs, in their order. @errors kMalformed.
[[nodiscard]] Result<std::vector<LoggedEvent>> parse_events(const contracts::DisputeGame& contract,
                                                            std::span<const chain::Log> logs);
/// Of all events of games about a unit, as chain::LogQuery has them.
[[nodiscard]] std::vector<std::optional<Digest>> topics_of_unit(const Digest& unit);

struct Blocks {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
};
/// Finds the events of one game, its announcement included.
[[nodiscard]] Result<std::vector<LoggedEvent>> game_events(chain::ChainClient& client,
                                                           const contracts::DisputeGame& contract,
                                                           const Digest& game, Blocks blocks);

/// A transaction of one of the two sides. The challenger announces, opens, moves and proves, the
/// asserter answers. Anybody may end a game by its clock or close it: that counts for no side.
struct GameTransaction {
    Digest hash;
    std::uint64_t block_number = 0;
    bool by_asserter = false;
};
/// Those of one game, each once, in the chain's order. @param events of game_events().
[[nodiscard]] std::vector<GameTransaction> transactions_of(std::span<const LoggedEvent> events);

/// The cost of a game: gas of transactions_of().
struct GameCost {
    std::uint64_t transactions = 0;
    std::uint64_t challenger_gas = 0;
    std::uint64_t asserter_gas = 0;
};
/// Gas that a transaction used. @errors kNotFound: the chain forgot it.
using GasOf = std::function<Result<std::uint64_t>(const Digest& transaction)>;
/// The one count of a game's gas. @errors of `gas_of`.
[[nodiscard]] Result<GameCost> game_cost(std::span<const LoggedEvent> events, const GasOf& gas_of);
/// @errors as ChainClient; kNotFound: the chain forgot one.
[[nodiscard]] Result<GameCost> game_cost(chain::ChainClient& client,
                                         std::span<const LoggedEvent> events);

}  // namespace gym::player
