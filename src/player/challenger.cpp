#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "dispute_client.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/crypto/secret.hpp"
#include "gym/game/state.hpp"

namespace gym::player {
namespace {

/// The base fee may rise until the opening is mined; what is left of the escrow comes back.
constexpr std::uint64_t kEscrowMargin = 4;
/// A game can take so many blocks, besides announce_blocks, from the decision to ask on chain to
/// its opening.
constexpr std::uint64_t kBlocksToOpen = 16;

bool is_fault(game::GameStatus status) {
    return status == game::GameStatus::kFaultProven || status == game::GameStatus::kFaultByClock;
}

constexpr const char* kNothingAsked = "it is not asked for any more";

std::string announce_id(const Digest& game) {
    return "dispute-announce:" + game.hex();
}

Amount unlimited() {
    std::array<std::uint8_t, 32> bytes{};
    bytes.fill(0xFF);
    return Amount::from_be32(bytes);
}

class Challenger final : public Player {
  public:
    explicit Challenger(PlayerSetup setup) : disputes_(std::move(setup)) {}

    Status tick() override {
        GYM_CHECK(disputes_.refresh());
        bool busy = false;
        GYM_TRY(const auto claims, disputes_.claims(Role::kChallenge));
        for (const auto& claim : claims) {
            busy = true;
            Status done = challenge(*claim);
            if (done.ok()) continue;
            if (ends_tick(done.error())) return done;
            disputes_.emit_once("stuck", *claim, {}, done.error().message);
        }
        Status taken = disputes_.withdraw_ether(busy);
        GYM_CHECK(disputes_.broadcast());  // moves are due, whatever becomes of the ether
        return taken;
    }

  private:
    /// Names of a claim's unit and game on chain, and their state in the contract.
    struct Case {
        Digest unit;
        Digest game;
        game::GameState state;
        game::UnitState on_chain;
    };

    contracts::DisputeGame& contract() { return disputes_.setup().contract; }
    chain::ChainClient& client() { return disputes_.setup().client; }

    Result<Digest> unit_of(const Claim& claim) {
        const crypto::Eip712Domain& domain = disputes_.setup().domain;
        if (claim.subject == Subject::kWithheld) {
            GYM_TRY(const game::WithheldFacts facts, facts_of(claim));
            return facts.unit;
        }
        if (claim.subject != Subject::kConflict)
            return game::unit_of(domain, claim.evidence.commitment);
        GYM_TRY(const game::Conflict conflict, conflict_of(claim));
        GYM_TRY(const game::ConflictFinding finding, game::decide_conflict(domain, conflict));
        return finding.unit;
    }

    Result<Case> read(const Claim& claim) {
        Case out;
        const chain::BlockId at(disputes_.head().hash);
        GYM_TRY(out.unit, unit_of(claim));
        out.game = game::announcement_of(disputes_.chain_id(), contract().address(),
                                         disputes_.self(), out.unit, claim.salt);
        GYM_TRY(out.state, contract().game_of(client(), out.game, at));
        GYM_TRY(out.on_chain, contract().unit_of(client(), out.unit, at));
        return out;
    }

    /// @pre ask_when_due(): the epochs are there.
    Result<game::WithheldFacts> facts_of(const Claim& claim) {
        GYM_TRY(const game::WithheldEvidence evidence, withheld_evidence_of(claim));
        GYM_TRY(const auto facts, disputes_.withheld_facts(evidence));
        if (facts) return *facts;
        return fail(ErrorCode::kUnavailable, "the epoch that answers is not on chain");
    }

    /// Publishes a commitment that no epoch has, and waits for the epochs that may.
    /// @return whether its game may begin, or has begun.
    Result<bool> ask_when_due(const Claim& claim) {
        GYM_TRY(const game::WithheldEvidence evidence, withheld_evidence_of(claim));
        const contracts::CommitmentLog log(disputes_.setup().commitment_log());
        GYM_TRY(const auto round, log.round_of(client(), claim.key.job_id, claim.key.round));
        const bool is_posted = round.round_record_hash == protocol::hash(evidence.record);
        if (!is_posted && !round.round_record_hash.is_zero())
            return give_up(claim, "the chain has another record of its round");
        GYM_TRY(const auto facts, disputes_.withheld_facts(evidence));
        const bool withdrawn = disputes_.setup().claims.is_withdrawn(claim);
        if (facts && withdrawn) return true;  // begin() knows whether its game is announced
        if (withdrawn) return give_up(claim, kNothingAsked);
        GYM_TRY(const std::uint64_t window, disputes_.window_blocks());
        const bool abandoned =
            disputes_.head().number >= claim.from_block + kWindowsWithoutEpoch * window;
        if (!facts && abandoned)
            return give_up(claim, "no epoch that could hold the commitment was posted");
        if (evidence.data.what != game::Wanted::kCommitment) return facts.has_value();
        if (!is_posted) return false;
        GYM_TRY(const bool published, is_published(claim));
        return published && facts ? is_owed(claim, window) : false;
    }

    Result<bool> is_published(const Claim& claim) {
        const contracts::CommitmentLog log(disputes_.setup().commitment_log());
        const protocol::SignedCommitment& one = claim.evidence.commitment;
        const Digest leaf = protocol::commitment_leaf(one);
        GYM_TRY(const std::uint64_t block, log.published_at(client(), leaf));
        if (block != 0) return true;
        disputes_.emit_once("published", claim, {}, "leaf " + leaf.hex());
        GYM_CHECK(disputes_.send(
            "publish:" + leaf.hex(),
            log.post_commitment(claim.key.job_id, claim.key.round, protocol::encode(one))));
        return false;
    }

    /// Whether the coordinator had to have it in the newest epoch that may have it, and it is time
    /// to ask. A coordinator that is down cannot say where it is, and its worker would lose a bond:
    /// it waits until the last quarter of the window.
    Result<bool> is_owed(const Claim& claim, std::uint64_t window) {
        const contracts::CommitmentLog log(disputes_.setup().commitment_log());
        const Digest leaf = protocol::commitment_leaf(claim.evidence.commitment);
        GYM_TRY(const std::uint64_t published, log.published_at(client(), leaf));
        GYM_TRY(const std::uint64_t notice, contract().notice_blocks(client()));
        GYM_TRY(const std::uint64_t end, last_block_of_withheld(claim, window));
        if (published + notice > end - window)
            return give_up(claim, "it was published too late for the last epoch that may have it");
        GYM_TRY(const auto* terms, disputes_.terms());
        const std::uint64_t quarter = window / 4;
        const std::uint64_t left =
            std::min(std::max(quarter, terms->announce_blocks + kBlocksToOpen), window - quarter);
        return disputes_.head().number >= end - left;
    }

    Result<bool> give_up(const Claim& claim, const char* why) {
        disputes_.emit("ended", claim, {}, why);
        GYM_CHECK(disputes_.forget(claim));
        return false;
    }

    Status challenge(const Claim& claim) {
        if (claim.subject == Subject::kWithheld) {
            GYM_TRY(const bool due, ask_when_due(claim));
            if (!due) return {};
        }
        GYM_TRY(const Case now, read(claim));
        if (game::is_open(now.state.status)) {
            // Nothing more is to be won in it: the bond comes back.
            const bool won =
                now.on_chain.proven_at_s != 0 && now.on_chain.finder == disputes_.self();
            if (won || now.on_chain.settled)
                return disputes_.send("dispute-close:" + now.game.hex(),
                                      contract().close(now.game));
            return play(claim, now);
        }
        if (now.on_chain.proven_at_s != 0) return settle(claim, now);
        if (now.state.status == game::GameStatus::kNone) return begin(claim, now);
        // A fault that is proven is known of the unit, too: these answers are of two blocks, as a
        // node gives them while it imports the second one. The next tick asks again.
        if (is_fault(now.state.status)) return {};
        disputes_.emit("ended", claim, now.game,
                       "lost: " + std::string(game::to_string(now.state.status)));
        return disputes_.forget(claim);
    }

    /// Of an aggregate, as long as it is not on chain there is none: a coordinator that waits until
    /// its round's window is over gains nothing.
    Result<std::uint64_t> last_block_of_aggregate(const Claim& claim, std::uint64_t window) {
        const protocol::UnitKey& unit = claim.key;
        GYM_TRY(const auto posted, disputes_.aggregate_block(unit.job_id, unit.round));
        if (!posted) return std::numeric_limits<std::uint64_t>::max();
        GYM_TRY(const auto epoch, disputes_.epoch_of(unit.job_id, unit.round));
        return std::max(*posted, epoch ? epoch->block_number : disputes_.head().number) + window;
    }

    /// Of withheld data. @pre its epochs are there.
    Result<std::uint64_t> last_block_of_withheld(const Claim& claim, std::uint64_t window) {
        GYM_TRY(const game::WithheldEvidence evidence, withheld_evidence_of(claim));
        const bool in_next =
            evidence.data.what == game::Wanted::kLateDelta ||
            (evidence.data.what == game::Wanted::kCommitment && evidence.record.accept_late);
        GYM_TRY(const auto epoch,
                disputes_.epoch_of(claim.key.job_id, claim.key.round + (in_next ? 1 : 0)));
        if (!epoch) return fail(ErrorCode::kUnavailable, "the epoch that answers is not on chain");
        return epoch->block_number + window;
    }

    /// Whether the claim is about an aggregate itself, and not about the record behind it.
    static Result<bool> is_of_aggregate(const Claim& claim) {
        if (claim.subject != Subject::kConflict) return claim.subject == Subject::kAggregate;
        if (claim.key.slot != protocol::kAggregateSlot) return false;
        GYM_TRY(const game::Conflict conflict, conflict_of(claim));
        GYM_TRY(const game::ConflictOther other, game::read_conflict_other(conflict.other));
        return !std::holds_alternative<protocol::RoundHead>(other);
    }

    /// The last block in which a game about the claim can be opened; as long as its round has no
    /// epoch there is none, and this node gives up a window after it was filed.
    Result<std::uint64_t> last_block(const Claim& claim) {
        GYM_TRY(const std::uint64_t window, disputes_.window_blocks());
        if (claim.subject == Subject::kWithheld) return last_block_of_withheld(claim, window);
        GYM_TRY(const bool of_aggregate, is_of_aggregate(claim));
        if (of_aggregate) return last_block_of_aggregate(claim, window);
        if (claim.epoch_block != 0) return claim.epoch_block + window;
        // The next round's record is on trial as long as that round is.
        std::uint64_t round = claim.key.round;
        if (claim.subject == Subject::kConflict) {
            GYM_TRY(const game::Conflict conflict, conflict_of(claim));
            GYM_TRY(const game::ConflictOther other, game::read_conflict_other(conflict.other));
            // One of two commitments may be a late one.
            if (std::holds_alternative<protocol::RoundHead>(other) || conflict.record.accept_late)
                ++round;
        }
        GYM_TRY(const auto epoch, disputes_.epoch_of(claim.key.job_id, round));
        return (epoch ? epoch->block_number : claim.from_block) + window;
    }

    /// Announces, waits, opens.
    Status begin(const Claim& claim, const Case& now) {
        GYM_TRY(const std::uint64_t end, last_block(claim));
        GYM_TRY(const auto* terms, disputes_.terms());
        if (disputes_.head().number > end) {
            disputes_.emit(
                "ended", claim, now.game,
                fmt::format("too late: games about it could be opened until block {}", end));
            return disputes_.forget(claim);
        }
        GYM_TRY(const auto announced, contract().announced(client(), now.game));
        if (announced.order == 0 && disputes_.setup().claims.is_withdrawn(claim))
            return forget_withdrawn(claim, now);
        if (announced.order == 0) return announce(claim, now, *terms);
        if (disputes_.head().number + 1 < announced.block_number + terms->announce_blocks)
            return {};
        if (disputes_.head().number >
            announced.block_number + terms->announce_blocks + terms->open_blocks)
            return announce_anew(claim, now);
        disputes_.emit_once("opened", claim, now.game, "unit " + now.unit.hex());
        GYM_TRY(const Amount escrow, escrow_wei(*terms));
        GYM_TRY(Bytes call, opening(claim));
        return disputes_.send("dispute-open:" + now.game.hex(),
                              contract().open(std::move(call), escrow));
    }

    /// Once the game is announced its bond would be lost without the opening.
    Status forget_withdrawn(const Claim& claim, const Case& now) {
        GYM_TRY(const bool announcing, disputes_.is_on_its_way(announce_id(now.game)));
        if (announcing) return {};
        disputes_.emit("ended", claim, now.game, kNothingAsked);
        return disputes_.forget(claim);
    }

    static Result<Bytes> opening(const Claim& claim) {
        if (claim.subject == Subject::kWithheld) {
            GYM_TRY(const game::WithheldEvidence evidence, withheld_evidence_of(claim));
            return game::encode_withheld(evidence, claim.salt);
        }
        if (claim.subject != Subject::kConflict)
            return game::encode_open(claim.evidence, claim.salt);
        GYM_TRY(const game::Conflict conflict, conflict_of(claim));
        return game::encode_conflict(conflict, claim.salt);
    }

    /// This node was away for too long: the bond of its announcement is lost.
    Status announce_anew(Claim claim, const Case& now) {
        disputes_.emit("missed", claim, now.game, "it was announced and not opened in time");
        claim.salt = crypto::random_digest();
        return disputes_.setup().claims.save(claim);
    }

    Result<Amount> escrow_wei(const game::DisputeTerms& terms) {
        const Amount gas(terms.escrow_gas * kEscrowMargin);
        return disputes_.head().base_fee_wei.mul_div(gas, Amount(1));
    }

    /// Whether as much can be taken as is put at risk: a name with a wei of stake could otherwise
    /// have a bond and the gas of a game spent on it for nothing. Asked again in the next tick:
    /// stake may come.
    Result<bool> is_worth_a_bond(const Claim& claim, const Address& stake, const Amount& bond) {
        GYM_TRY(const Address asserter, asserter_of(claim));
        GYM_TRY(const auto held, contracts::Stake(stake).stake_of(client(), asserter));
        GYM_TRY(const Amount all, held.active.plus(held.thawing));
        if (!all.is_zero() && all >= bond) return true;
        disputes_.emit_once("skipped", claim, {},
                            fmt::format("{} stakes {} GYM: a game about it takes a bond of {}",
                                        asserter.hex(), all.to_tokens(), bond.to_tokens()));
        return false;
    }

    Result<Address> asserter_of(const Claim& claim) {
        if (claim.subject == Subject::kWithheld) {
            GYM_TRY(const game::WithheldFacts facts, facts_of(claim));
            return facts.asserter;
        }
        return disputes_.signer_of(claim);
    }

    Status announce(const Claim& claim, const Case& now, const game::DisputeTerms& terms) {
        GYM_TRY(const auto contracts, contract().contracts(client()));
        GYM_TRY(const bool worth, is_worth_a_bond(claim, contracts.stake, terms.bond));
        if (!worth) return {};
        const contracts::GymToken token(disputes_.chain_id(), contracts.token);
        GYM_TRY(const Amount balance, token.balance_of(client(), disputes_.self()));
        if (balance < terms.bond)
            return fail(ErrorCode::kInsufficientFunds,
                        "a game needs a bond of " + terms.bond.to_tokens() + " GYM, " +
                            disputes_.self().hex() + " has " + balance.to_tokens());
        GYM_TRY(const Amount allowed,
                token.allowance(client(), disputes_.self(), contract().address()));
        // Once for all games: the contract cannot change, and takes bonds of the caller only.
        if (allowed < terms.bond)
            return disputes_.send("dispute-approve:" + contract().address().hex(),
                                  token.approve(contract().address(), unlimited()));
        disputes_.emit_once("announced", claim, now.game, "unit " + now.unit.hex());
        return disputes_.send(announce_id(now.game), contract().announce(now.game));
    }

    Status play(const Claim& claim, const Case& now) {
        if (now.state.status == game::GameStatus::kChallengerMoves) {
            GYM_TRY(const bool moving, disputes_.is_moving(now.game, now.state.position));
            if (moving) return {};
        }
        if (claim.subject == Subject::kWithheld) return wait_for_data(claim, now);
        GYM_TRY(const auto games, disputes_.open_games(claim, now.unit));
        for (const OpenGame& game : games.playable) {
            if (game.id != now.game) continue;
            if (game.state.status == game::GameStatus::kAsserterMoves) {
                GYM_TRY(const bool ended, disputes_.end_by_clock(claim, game));
                (void)ended;
                return {};
            }
            GYM_TRY(game::Strategy* const own, disputes_.setup().units.open(claim));
            GYM_TRY(const game::Move move, own->challenge(game.transcript));
            return disputes_.play(claim, game, move);
        }
        return {};  // the logs come after the state: the next tick sees them
    }

    /// Nothing can be moved: the data is shown, or a clock runs out.
    Status wait_for_data(const Claim& claim, const Case& now) {
        GYM_TRY(const game::WithheldFacts facts, facts_of(claim));
        GYM_TRY(const OpenGame game, disputes_.withheld_game(now.game, now.unit, facts.request));
        if (game.state.status == game::GameStatus::kChallengerMoves) {
            disputes_.emit_once("answered", claim, now.game, "the data is on chain");
            return {};
        }
        GYM_CHECK(disputes_.end_by_clock(claim, game));
        return {};
    }

    /// The unit is faulty: takes its stake when the settling period is over, and what is owed.
    Status settle(const Claim& claim, const Case& now) {
        GYM_TRY(const auto announced, contract().announced(client(), now.game));
        if (announced.order != 0 && now.state.status == game::GameStatus::kNone)
            return disputes_.send("dispute-reclaim:" + now.game.hex(),
                                  contract().reclaim(now.unit, claim.salt));
        if (!now.on_chain.settled) {
            GYM_TRY(const auto* terms, disputes_.terms());
            if (now.state.status == game::GameStatus::kNone)
                disputes_.emit_once("skipped", claim, now.game,
                                    "a fault in it is proven; finder " + now.on_chain.finder.hex());
            else
                disputes_.emit_once("ended", claim, now.game,
                                    "won: " + std::string(to_string(now.state.status)));
            if (disputes_.head().timestamp_s < now.on_chain.proven_at_s + terms->settling_s)
                return {};
            return disputes_.send("dispute-settle:" + now.unit.hex(), contract().settle(now.unit));
        }
        GYM_TRY(const bool due, take_compensation(now));
        if (due) return {};  // the next tick sees it paid
        GYM_CHECK(disputes_.withdraw_ether());
        const std::string finder = "; finder " + now.on_chain.finder.hex();
        if (now.state.status == game::GameStatus::kNone)
            disputes_.emit("skipped", claim, now.game, "others have settled it" + finder);
        else
            disputes_.emit("settled", claim, now.game, "the asserter's stake was taken" + finder);
        return disputes_.forget(claim);
    }

    /// What a slash left to this node for a game that it won. @return whether something was due.
    Result<bool> take_compensation(const Case& now) {
        if (!is_fault(now.state.status)) return false;
        GYM_TRY(const auto contracts, contract().contracts(client()));
        const contracts::Stake stake(contracts.stake);
        GYM_TRY(const Amount due, stake.compensation_of(client(), now.state.order,
                                                        chain::BlockId(disputes_.head().hash)));
        if (due.is_zero()) return false;
        GYM_CHECK(disputes_.send("dispute-compensate:" + now.game.hex(),
                                 stake.compensate(now.state.order)));
        return true;
    }

    DisputeClient disputes_;
};

}  // namespace

std::unique_ptr<Player> make_challenger(PlayerSetup setup) {
    return std::make_unique<Challenger>(std::move(setup));
}

}  // namespace gym::player
