#include <algorithm>
#include <set>
#include <utility>

#include "dispute_client.hpp"
#include "gym/game/state.hpp"

namespace gym::player {
namespace {

/// Names what a game asks for, for people.
Claim subject_of(const game::WithheldEvidence& evidence) {
    Claim out;
    out.subject = Subject::kWithheld;
    out.key = {
        evidence.record.job_id, evidence.record.round,
        evidence.commitment ? evidence.commitment->commitment.slot : protocol::kAggregateSlot, 0};
    return out;
}

class DataDefender final : public Player {
  public:
    DataDefender(PlayerSetup setup, DataSource& data) : disputes_(std::move(setup)), data_(data) {}

    Status tick() override {
        GYM_CHECK(disputes_.refresh());
        GYM_TRY(const std::uint64_t window, disputes_.window_blocks());
        // Games are opened within a window, and end some clocks later.
        if (first_block_ == 0)
            first_block_ = std::max<std::uint64_t>(
                1, disputes_.head().number -
                       std::min(disputes_.head().number, kWindowsWithoutEpoch * window));
        GYM_TRY(const auto asserters, asserters_now());
        bool open = false;
        for (const Address& asserter : asserters) {
            GYM_TRY(const auto games, disputes_.withheld_games(asserter, first_block_));
            for (const WithheldGame& game : games) {
                if (over_.contains(game.id)) continue;
                asked_ = true;
                GYM_TRY(const bool is_open, defend(game));
                open = open || is_open;
            }
        }
        Status taken = asked_ ? disputes_.withdraw_ether(open) : Status();
        GYM_CHECK(disputes_.broadcast());  // moves are due, whatever becomes of the ether
        return taken;
    }

  private:
    /// This node, and the signers of the units that it defends.
    Result<std::set<Address>> asserters_now() {
        std::set<Address> out{disputes_.self()};
        GYM_TRY(const auto claims, disputes_.claims(Role::kDefend));
        for (const auto& claim : claims) {
            GYM_TRY(const Address signer, disputes_.signer_of(*claim));
            out.insert(signer);
        }
        return out;
    }

    /// @return whether it is open. An error of one game keeps no other waiting.
    Result<bool> defend(const WithheldGame& game) {
        auto open = answer(game);
        if (open.ok() || ends_tick(open.error())) return open;
        disputes_.emit_once("stuck", subject_of(game.evidence), game.id, open.error().message);
        return true;
    }

    Result<bool> answer(const WithheldGame& game) {
        GYM_TRY(const auto facts, disputes_.withheld_facts(game.evidence));
        if (!facts || facts->unit != game.unit)
            return fail(ErrorCode::kMismatch, "the chain has other epochs than at its opening");
        GYM_TRY(const OpenGame now, disputes_.withheld_game(game.id, game.unit, facts->request));
        if (!game::is_open(now.state.status)) {
            // A reorganisation may open it again.
            if (now.state.status != game::GameStatus::kNone) over_.insert(game.id);
            return false;
        }
        const Claim subject = subject_of(game.evidence);
        if (now.state.status == game::GameStatus::kChallengerMoves) {
            GYM_CHECK(disputes_.end_by_clock(subject, now));
            return true;
        }
        GYM_TRY(const bool moving, disputes_.is_moving(game.id, now.state.position));
        if (moving) return true;
        GYM_TRY(game::move::ShowWithheld shown, data_.show(game.evidence, facts->request));
        GYM_CHECK(disputes_.play(subject, now, game::Move(std::move(shown))));
        return true;
    }

    DisputeClient disputes_;
    DataSource& data_;
    std::uint64_t first_block_ = 0;
    bool asked_ = false;     ///< whether a game ever asked for something
    std::set<Digest> over_;  ///< games that have ended
};

}  // namespace

std::unique_ptr<Player> make_data_defender(PlayerSetup setup, DataSource& data) {
    return std::make_unique<DataDefender>(std::move(setup), data);
}

}  // namespace gym::player
