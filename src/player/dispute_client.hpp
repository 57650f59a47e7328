#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/common/function_ref.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/game/transcript.hpp"
#include "gym/game/withheld.hpp"
#include "gym/player/game_log.hpp"
#include "gym/player/player.hpp"
#include "log_cache.hpp"

namespace gym::player {

/// One game with what the contract says of it at the same time.
struct OpenGame {
    Digest id;
    game::GameState state;
    game::GameTranscript transcript;
};

/// The open games about a unit.
struct OpenGames {
    std::vector<OpenGame> playable;
    std::size_t stuck = 0;  ///< whose logs do not lead to where the contract has them
    [[nodiscard]] bool any() const { return !playable.empty() || stuck != 0; }
};

/// A game about withheld data, as it was opened.
struct WithheldGame {
    Digest id;
    Digest unit;
    game::WithheldEvidence evidence;
};

/// The games about withheld data among the events. @param unreadable is told the game of each other
/// opening that cannot be read, and why.
[[nodiscard]] std::vector<WithheldGame> withheld_games_of(
    std::span<const LoggedEvent> events,
    FunctionRef<void(const Digest& game, const std::string& why)> unreadable);

/// Whether ether that a game credited pays many times for the transaction that withdraws it.
[[nodiscard]] bool is_worth_withdrawing(const Amount& due, const Amount& base_fee_wei);

/// Whether the error ends the tick: the chain does not answer, or the player is asked to stop.
/// Any other error concerns one claim or game alone, and is reported.
[[nodiscard]] bool ends_tick(const Error& error);

/// The chain as both players use it: its head, open games, and transactions.
class DisputeClient {
  public:
    explicit DisputeClient(PlayerSetup setup) : setup_(std::move(setup)), logs_(setup_.client) {}

    [[nodiscard]] PlayerSetup& setup() { return setup_; }
    [[nodiscard]] const PlayerSetup& setup() const { return setup_; }
    [[nodiscard]] std::uint64_t chain_id() const { return setup_.domain.chain_id.value(); }
    [[nodiscard]] const Address& self() const { return setup_.transactions.sender(); }

    /// Reads the head of the chain. The first step of every tick. @errors as ChainClient.
    Status refresh();
    [[nodiscard]] const chain::BlockHeader& head() const { return head_; }
    /// Terms and window of the contract; asked once.
    Result<const game::DisputeTerms*> terms();
    Result<std::uint64_t> window_blocks();

    /// Claims of this role. Those that were filed before any block was seen begin now.
    Result<std::vector<ClaimStore::Shared>> claims(Role role);
    /// The epoch of a round; absent: it has none yet. @param record if it is given, its hash;
    /// absent also where the round has another one.
    Result<std::optional<contracts::CommitmentLog::Epoch>> epoch_of(
        const Digest& job_id, std::uint64_t round,
        const std::optional<Digest>& record = std::nullopt);
    /// The block in which the aggregate of a round is on chain; absent: it is not there yet.
    Result<std::optional<std::uint64_t>> aggregate_block(const Digest& job_id, std::uint64_t round);
    /// Those of a round and of the one before; absent: this round has none yet.
    Result<std::optional<game::EpochRoots>> epoch_roots(const protocol::RoundTerms& record);
    /// What the contract makes of evidence about withheld data. Absent: the epoch that answers is
    /// not posted yet. @errors also those of game::withheld_facts_of().
    Result<std::optional<game::WithheldFacts>> withheld_facts(
        const game::WithheldEvidence& evidence);
    /// The game as it is on chain now, at its beginning: there is one move in it.
    Result<OpenGame> withheld_game(const Digest& game, const Digest& unit,
                                   const game::DataRequest& request);
    /// Games about withheld data that were opened against `asserter` from `first_block` on. One
    /// that cannot be read is reported.
    Result<std::vector<WithheldGame>> withheld_games(const Address& asserter,
                                                     std::uint64_t first_block);
    /// Whether an open game asks for a chunk of the delta that the claim's commitment names.
    /// @param first_block as withheld_games().
    Result<bool> is_asked_for_delta(const Claim& claim, std::uint64_t first_block);
    /// The signer of the claim's commitment: this node, or the node whose defender it is.
    Result<Address> signer_of(const Claim& claim);
    /// Drops a claim, which outlives the call, and what was kept for it.
    Status forget(const Claim& claim);

    /// Sends a call once under `id`; again under another id if the first failed and its cause
    /// is still there. Call it in every tick as long as it is due.
    Status send(const std::string& id, const contracts::ContractCall& call);
    /// Whether a call was sent under `id` and may still come to be.
    Result<bool> is_on_its_way(const std::string& id);
    /// Broadcasts the transactions that were sent. The last step of every tick.
    Status broadcast();

    /// Units of `asserter` about which games were opened from `first_block` on.
    Result<std::set<Digest>> units_opened(const Address& asserter, std::uint64_t first_block);
    /// The unit's open games with their transcripts. One that cannot be followed is reported, and
    /// keeps no other from being played.
    Result<OpenGames> open_games(const Claim& claim, const Digest& unit);
    /// Ends a game in which the side on turn has no time left. @return whether it had none.
    Result<bool> end_by_clock(const Claim& claim, const OpenGame& game);
    /// Whether a move from the game's position was sent and may still come to be. To be asked
    /// before a move is planned, which may take a whole run.
    Result<bool> is_moving(const Digest& game, const Digest& position);
    /// Sends a planned move.
    Status play(const Claim& claim, const OpenGame& game, const game::Move& move);
    /// Withdraws the ether that games credited to this node, if there is any; while others are
    /// open, only what is_worth_withdrawing(): more may come, and the next answers are paid from
    /// it.
    Status withdraw_ether(bool games_open = false);

    void emit(const char* name, const Claim& claim, const Digest& game, std::string detail);
    /// emit() once for each different sentence about a claim.
    void emit_once(const char* name, const Claim& claim, const Digest& game, std::string detail);

  private:
    Result<std::vector<LoggedEvent>> opened_against(const Address& asserter,
                                                    std::uint64_t first_block);

    PlayerSetup setup_;
    chain::BlockHeader head_;
    std::optional<game::DisputeTerms> terms_;
    std::optional<std::uint64_t> window_blocks_;
    std::set<std::string> emitted_;
    std::map<Digest, Address> signers_;  ///< of claims, by the leaf of their commitment
    LogCache logs_;
};

}  // namespace gym::player
