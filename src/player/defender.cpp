#include <algorithm>

#include "desk.hpp"
#include "gym/game/planner.hpp"

namespace gym::player {
namespace {

constexpr std::uint64_t kReorgBlocks = 64;

class Defender final : public Player {
  public:
    explicit Defender(PlayerSetup setup) : desk_(std::move(setup)) {}

    Status tick() override {
        GYM_CHECK(desk_.look());
        GYM_TRY(const auto claims, own_claims());
        if (claims.empty()) return desk_.push();
        std::uint64_t first = claims.front()->from_block;
        for (const auto& claim : claims)
            first = std::min(first, claim->from_block);
        GYM_TRY(const auto* opened, desk_.units_opened(desk_.self(), first));
        bool open = false;
        for (const auto& claim : claims) {
            const auto busy = defend(*claim, *opened);
            if (busy.ok())
                open = open || *busy;
            else if (!is_connection(busy.error()))
                desk_.tell_once("stuck", *claim, {}, busy.error().message);
            else
                return busy.error();
        }
        if (!open) GYM_CHECK(desk_.withdraw_ether());
        return desk_.push();
    }

  private:
    static bool is_connection(const Error& error) {
        return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout;
    }

    /// Those that were signed before any block was seen begin now.
    Result<std::vector<ClaimStore::Shared>> own_claims() {
        ClaimStore& store = desk_.setup().claims;
        for (const ClaimStore::Shared& claim : store.list()) {
            if (claim->from_block != 0) continue;
            Claim dated = *claim;
            dated.from_block = std::max<std::uint64_t>(
                1, desk_.head().number - std::min(desk_.head().number, kReorgBlocks));
            GYM_CHECK(store.save(dated));
        }
        std::vector<ClaimStore::Shared> out = store.list();
        std::erase_if(out, [](const auto& claim) { return claim->role != Role::kDefend; });
        return out;
    }

    /// @return whether a game about it is open.
    Result<bool> defend(const Claim& claim, const std::set<Digest>& opened) {
        GYM_TRY(const Digest unit, game::unit_of(desk_.setup().domain, claim.evidence.commitment));
        std::vector<OpenGame> games;
        if (opened.contains(unit)) {
            GYM_TRY(games, desk_.open_games(claim, unit));
        }
        for (const OpenGame& game : games)
            GYM_CHECK(answer(claim, game));
        if (!games.empty()) return true;
        GYM_CHECK(forget_if_over(claim));
        return false;
    }

    Status answer(const Claim& claim, const OpenGame& game) {
        if (game.state.status == chain::GameStatus::kChallengerMoves) {
            GYM_TRY(const bool ended, desk_.call_time(claim, game));
            (void)ended;
            return {};
        }
        GYM_TRY(game::UnitWork* const work, desk_.setup().units.open(claim));
        GYM_TRY(const game::Move move, game::plan_answer(*work, game.line));
        return desk_.play(claim, game, move);
    }

    /// Games can be opened until the window closes. Some blocks more, since a reorg may move an
    /// opening.
    Status forget_if_over(const Claim& claim) {
        if (claim.epoch_block == 0) return {};  // its epoch may come, whoever says that it did not
        GYM_TRY(const std::uint64_t window, desk_.window_blocks());
        if (desk_.head().number < claim.epoch_block + window + kReorgBlocks) return {};
        return desk_.setup().claims.remove(claim.key);
    }

    Desk desk_;
};

}  // namespace

std::unique_ptr<Player> make_defender(PlayerSetup setup) {
    return std::make_unique<Defender>(std::move(setup));
}

}  // namespace gym::player
