#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "dispute_client.hpp"
#include "gym/game/state.hpp"

namespace gym::player {
namespace {

class Defender final : public Player {
  public:
    explicit Defender(PlayerSetup setup) : disputes_(std::move(setup)) {}

    Status tick() override {
        GYM_CHECK(disputes_.refresh());
        GYM_TRY(const auto claims, disputes_.claims(Role::kDefend));
        if (claims.empty()) return disputes_.broadcast();
        GYM_TRY(const auto opened, units_opened(claims));
        bool open = false;
        for (const auto& claim : claims) {
            const auto busy = defend(*claim, opened);
            if (busy.ok())
                open = open || *busy;
            else if (!ends_tick(busy.error()))
                disputes_.emit_once("stuck", *claim, {}, busy.error().message);
            else
                return busy.error();
        }
        Status taken = disputes_.withdraw_ether(open);
        GYM_CHECK(disputes_.broadcast());  // moves are due, whatever becomes of the ether
        return taken;
    }

  private:
    /// Units about which games were opened against the claims' signers: this node, or another one
    /// whose defender it is.
    Result<std::set<Digest>> units_opened(const std::vector<ClaimStore::Shared>& claims) {
        first_.clear();
        for (const auto& claim : claims) {
            GYM_TRY(const Address signer, disputes_.signer_of(*claim));
            const auto known = first_.emplace(signer, claim->from_block).first;
            known->second = std::min(known->second, claim->from_block);
        }
        std::set<Digest> out;
        for (const auto& [signer, block] : first_) {
            GYM_TRY(const auto units, disputes_.units_opened(signer, block));
            out.insert(units.begin(), units.end());
        }
        return out;
    }

    /// @return whether a game about it is open.
    Result<bool> defend(const Claim& claim, const std::set<Digest>& opened) {
        GYM_TRY(const Digest unit,
                game::unit_of(disputes_.setup().domain, claim.evidence.commitment));
        OpenGames games;
        if (opened.contains(unit)) {
            GYM_TRY(games, disputes_.open_games(claim, unit));
        }
        for (const OpenGame& game : games.playable) {
            const Status answered = answer(claim, game);
            if (answered.ok()) continue;
            // Each game has its own clock: the others are not kept waiting.
            if (ends_tick(answered.error())) return answered.error();
            disputes_.emit_once("stuck", claim, game.id, answered.error().message);
        }
        if (games.any()) return true;
        GYM_CHECK(forget_if_over(claim));
        return false;
    }

    Status answer(const Claim& claim, const OpenGame& game) {
        if (game.state.status == game::GameStatus::kChallengerMoves) {
            GYM_TRY(const bool ended, disputes_.end_by_clock(claim, game));
            (void)ended;
            return {};
        }
        GYM_TRY(const bool moving, disputes_.is_moving(game.id, game.state.position));
        if (moving) return {};
        GYM_TRY(game::Strategy* const own, disputes_.setup().units.open(claim));
        GYM_TRY(const game::Move move, own->answer(game.transcript));
        return disputes_.play(claim, game, move);
    }

    /// Games can be opened until the window closes. Some blocks more, since a reorg may move an
    /// opening.
    Status forget_if_over(const Claim& claim) {
        GYM_TRY(const std::uint64_t window, disputes_.window_blocks());
        if (claim.epoch_block != 0) {
            if (disputes_.head().number < claim.epoch_block + window + chain::kReorgBlocks)
                return {};
            if (claim.subject == Subject::kAggregate) return forget_if_long_on_chain(claim);
            const bool in_next =
                claim.subject != Subject::kAggregate && claim.evidence.record.accept_late;
            return in_next ? forget_if_next_is_over(claim, window) : forget(claim);
        }
        // Its epoch may come, whoever says that it did not: the chain is asked, at the end.
        if (disputes_.head().number < claim.from_block + kWindowsWithoutEpoch * window) return {};
        GYM_TRY(const auto epoch, disputes_.epoch_of(claim.key.job_id, claim.key.round));
        if (!epoch) {
            disputes_.emit("ended", claim, {},
                           fmt::format("its round has no epoch, {} blocks after it was signed",
                                       disputes_.head().number - claim.from_block));
            return disputes_.forget(claim);
        }
        Claim dated = claim;
        dated.epoch_block = epoch->block_number;
        return disputes_.setup().claims.save(dated);
    }

    /// As long as an aggregate is not on chain games about it can be opened.
    Status forget_if_long_on_chain(const Claim& claim) {
        GYM_TRY(const auto posted, disputes_.aggregate_block(claim.key.job_id, claim.key.round));
        if (!posted) return {};
        if (*posted <= claim.epoch_block) return disputes_.forget(claim);
        Claim dated = claim;
        dated.epoch_block = *posted;
        return disputes_.setup().claims.save(dated);
    }

    /// A commitment to a unit that may be late can be in the next epoch, too, whatever its receipt
    /// says. As long as there is none, it is waited for as for the first one.
    Status forget_if_next_is_over(const Claim& claim, std::uint64_t window) {
        GYM_TRY(const auto next, disputes_.epoch_of(claim.key.job_id, claim.key.round + 1));
        if (!next) {
            if (disputes_.head().number < claim.from_block + kWindowsWithoutEpoch * window)
                return {};
            return forget(claim);
        }
        if (next->block_number <= claim.epoch_block) return forget(claim);
        Claim dated = claim;
        dated.epoch_block = next->block_number;
        return disputes_.setup().claims.save(dated);
    }

    /// Unless an open game asks for the delta, which is shown by the claim: such a game may last
    /// longer than the window.
    Status forget(const Claim& claim) {
        if (claim.subject == Subject::kTrainUnit) {
            GYM_TRY(const Address signer, disputes_.signer_of(claim));
            GYM_TRY(const bool asked, disputes_.is_asked_for_delta(claim, first_.at(signer)));
            if (asked) return {};
        }
        return disputes_.forget(claim);
    }

    DisputeClient disputes_;
    std::map<Address, std::uint64_t> first_;  ///< block of a claim of this tick, by its signer
};

}  // namespace

std::unique_ptr<Player> make_defender(PlayerSetup setup) {
    return std::make_unique<Defender>(std::move(setup));
}

}  // namespace gym::player
