#pragma once

#include <optional>
#include <set>
#include <string>

#include "gym/chain/contracts.hpp"
#include "gym/game/line.hpp"
#include "gym/player/game_log.hpp"
#include "gym/player/player.hpp"

namespace gym::player {

/// One game with what the contract says of it at the same time.
struct OpenGame {
    Digest id;
    chain::DisputeGame::Game state;
    game::Line line;
};

/// What both players do with the chain.
class Desk {
  public:
    explicit Desk(PlayerSetup setup) : setup_(std::move(setup)) {}

    [[nodiscard]] PlayerSetup& setup() { return setup_; }
    [[nodiscard]] std::uint64_t chain_id() const { return setup_.domain.chain_id.value(); }
    [[nodiscard]] const Address& self() const { return setup_.transactions.sender(); }

    /// The head of the chain; first thing of every tick. @errors as ChainClient.
    Status look();
    [[nodiscard]] const chain::BlockHeader& head() const { return head_; }
    /// Terms and window of the contract; asked once.
    Result<const chain::DisputeGame::Terms*> terms();
    Result<std::uint64_t> window_blocks();

    /// Sends a call once under `id`; again under another id if the first was in vain and its cause
    /// is still there. Call it in every tick as long as it is due.
    Status send(const std::string& id, const chain::ContractCall& call);
    /// Whether something was ever sent under this id and has not failed.
    Result<bool> is_sent(const std::string& id);
    /// Pushes what was sent. Last thing of every tick.
    Status push();

    /// Units of `asserter` about which games were opened from `first_block` on. Blocks are read
    /// once, but for the last ones, which a reorg may replace.
    Result<const std::set<Digest>*> units_opened(const Address& asserter,
                                                 std::uint64_t first_block);
    /// The unit's games with their lines; only those that are open.
    Result<std::vector<OpenGame>> open_games(const Claim& claim, const Digest& unit);
    /// Ends a game in which the side on turn has no time left. @return whether it had none.
    Result<bool> call_time(const Claim& claim, const OpenGame& game);
    /// Sends a planned move.
    Status play(const Claim& claim, const OpenGame& game, const game::Move& move);
    /// Takes the ether out that games credited to this node, if there is any.
    Status withdraw_ether();

    void tell(const char* name, const Claim& claim, const Digest& game, std::string detail);
    /// tell() once for each different sentence about a claim.
    void tell_once(const char* name, const Claim& claim, const Digest& game, std::string detail);

  private:
    PlayerSetup setup_;
    chain::BlockHeader head_;
    std::optional<chain::DisputeGame::Terms> terms_;
    std::optional<std::uint64_t> window_blocks_;
    std::set<std::string> told_;
    std::set<Digest> units_opened_;
    std::uint64_t read_from_ = 0;
    std::optional<std::uint64_t> read_until_;
};

}  // namespace gym::player
