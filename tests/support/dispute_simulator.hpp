#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/game/calldata.hpp"
#include "gym/game/dispute_params.hpp"
#include "gym/game/evidence.hpp"
#include "gym/game/rules.hpp"

/// DisputeGame with its bank, and what disputes need of Stake and the token, as one pure state
/// machine: blocks, time and senders are parameters. What it refuses the contracts refuse; a test
/// drives both with the same scripts. The simulator of disputes plays on it.
namespace gym::game::sim {

/// The facts of opening evidence (OpeningRules); evidence.hpp computes them.
struct Opening {
    Digest unit;
    Address asserter;
    UnitFacts facts;
    std::optional<std::uint8_t> fault;  ///< contradiction()
    std::uint64_t epoch_block = 0;      ///< of the epoch's root
};

/// The answer of decide_conflict() about two records that cannot both be right.
struct ConflictOpening {
    ConflictFinding finding;
    /// Of the epoch's root of the round, or of the next round where that is what is wrong; none: no
    /// window is over.
    std::optional<std::uint64_t> epoch_block;
};

/// The parts of a transaction besides its call, and where it is mined.
struct TxContext {
    Address sender;
    std::uint64_t block = 0;
    std::uint64_t time = 0;  ///< seconds
    std::uint64_t base_fee = 0;
    std::uint64_t gas_price = 0;
    std::uint64_t gas = 0;  ///< that the contract finds for the move: only a chain knows
    Amount value;           ///< ether
};

/// The events, in order, from which players know a table.
namespace event {
struct Announced {
    Digest announcement;
    Address sender;
    std::uint64_t order = 0;
    std::uint64_t block = 0;
};
struct Opened {
    Digest game;
    Opening opening;  ///< of a conflict without facts
    Address challenger;
    Cursor cursor;
};
struct Moved {
    Digest game;
    Digest unit;
    bool by_asserter = false;
    Cursor next;
    Digest position;                       ///< further on than `next` if that was answered before
    std::shared_ptr<const SentMove> sent;  ///< shared by the copies of a table
};
struct FaultFound {
    Digest game;
    Digest unit;
    Finding finding;
};
struct GameEnded {
    Digest game;
    Digest unit;
    GameStatus status = GameStatus::kNone;
    Amount burned;
    Amount to_asserter;
};
struct UnitFaulty {
    Digest unit;
    Address asserter;
    Address finder;
    std::uint64_t order = 0;
};
struct UnitSettled {
    Digest unit;
    Address asserter;
    Address finder;
    Amount taken;
};
struct Compensated {
    std::uint64_t order = 0;  ///< of the prover's game
    Address prover;
    Amount amount;
};
}  // namespace event
using Event =
    std::variant<event::Announced, event::Opened, event::Moved, event::FaultFound, event::GameEnded,
                 event::UnitFaulty, event::UnitSettled, event::Compensated>;

/// A value: a copy of it is a snapshot to go back to. Blocks and times of calls must not decrease.
/// Whatever is refused changes nothing. Not thread-safe.
class DisputeSimulator {
  public:
    /// @param commitments the domain that commitments are signed for; without it nobody can prove
    /// that a signature is wrong.
    DisputeSimulator(const DisputeParams& terms, std::uint64_t chain_id, const Address& contract,
                     std::optional<crypto::Eip712Domain> commitments = std::nullopt)
        : terms_(terms),
          chain_id_(chain_id),
          contract_(contract),
          commitments_(std::move(commitments)) {}

    // --- Stake and the token ---
    void mint(const Address& owner, const Amount& amount);
    /// @errors kInsufficientFunds, kInvalidArgument for nothing.
    Status stake(const TxContext& tx, const Amount& amount);
    /// @errors kInsufficientFunds, kInvalidArgument for nothing.
    Status thaw(const TxContext& tx, const Amount& amount);
    /// @errors kPermissionDenied while the stake is locked; kNotFound: nothing has thawed.
    Status withdraw(const TxContext& tx);

    // --- DisputeGame ---
    // @errors kConflict: not now, or not again; kPermissionDenied: not the sender's; kNotFound;
    // kTimeout: a clock or a window is over; kOutOfRange: too early; kInsufficientFunds; those of
    // decide().
    Status announce(const TxContext& tx, const Digest& announcement);
    Status open(const TxContext& tx, const Opening& opening, const Digest& salt);
    Status open_conflict(const TxContext& tx, const ConflictOpening& opening, const Digest& salt);
    Status play(const TxContext& tx, const SentMove& sent) {
        return play(tx, std::make_shared<const SentMove>(sent));
    }
    Status play(const TxContext& tx, const std::shared_ptr<const SentMove>& sent);
    Status reclaim(const TxContext& tx, const Digest& unit, const Digest& salt);
    Status forfeit(const TxContext& tx, const Digest& announcement);
    Status timeout(const TxContext& tx, const Digest& game);
    Status close(const TxContext& tx, const Digest& game);
    Status settle(const TxContext& tx, const Digest& unit);
    /// Pays the prover of a game that was won beside the finder's. @errors kNotFound: nothing is
    /// due.
    Status compensate(const TxContext& tx, std::uint64_t order);
    Status withdraw_ether(const TxContext& tx);

    // --- views ---
    [[nodiscard]] Digest announcement_of(const Address& sender, const Digest& unit,
                                         const Digest& salt) const;
    [[nodiscard]] const GameState* game(const Digest& game) const;
    [[nodiscard]] const UnitState* unit(const Digest& unit) const;
    /// Hash of what followed the asserter's answer at a cursor, or zero.
    [[nodiscard]] Digest answer_to(const Digest& unit, const Digest& cursor) const;
    [[nodiscard]] bool is_announced(const Digest& announcement) const {
        return announced_.contains(announcement);
    }
    [[nodiscard]] Amount tokens_of(const Address& owner) const;
    [[nodiscard]] Amount staked_by(const Address& owner) const;  ///< thawing included
    [[nodiscard]] std::uint64_t locks_of(const Address& owner) const;
    [[nodiscard]] Amount ether_of(const Address& owner) const;
    /// What compensate() would pay.
    [[nodiscard]] Amount due_to(std::uint64_t order) const;
    [[nodiscard]] const DisputeParams& terms() const { return terms_; }
    [[nodiscard]] const std::vector<Event>& log() const { return log_; }
    [[nodiscard]] const std::map<Digest, GameState>& games() const { return games_; }
    [[nodiscard]] const std::map<Digest, UnitState>& units() const { return units_; }

    // Sums, for whoever checks that no money is made or lost.
    [[nodiscard]] const Amount& minted() const { return minted_; }
    [[nodiscard]] const Amount& burned() const { return burned_; }
    [[nodiscard]] Amount tokens_held() const;  ///< by everybody, staked, and as bonds
    [[nodiscard]] const Amount& ether_in() const { return ether_in_; }
    [[nodiscard]] const Amount& ether_out() const { return ether_out_; }
    [[nodiscard]] Amount ether_held() const;  ///< as escrow, and owed

  private:
    struct Announcement {
        std::uint64_t order = 0;
        std::uint64_t block = 0;
    };
    /// Shares of the account's thawing pool.
    struct Thaw {
        Amount shares;
        std::uint64_t available_at = 0;
        bool slashed_to_nothing = false;
    };
    /// A won game, and those of one owner between two slashes.
    struct Proof {
        Address prover;
        std::uint64_t moves = 0;
        std::uint64_t pot = 0;
    };
    struct Pot {
        Amount tokens;
        std::uint64_t moves = 0;
    };
    struct Account {
        Amount active, thawing, shares;
        std::vector<Thaw> thaws;
        std::uint64_t locks = 0;
        std::uint64_t pot = 0;
        std::uint64_t outage_since_s = 0;
        [[nodiscard]] Amount staked() const;  ///< thawing included
        Amount redeem(const Amount& part);    ///< of the shares
    };

    Status open_until(const TxContext& tx, const Opening& opening, const Cursor& start,
                      const Digest& salt, std::uint64_t deadline);
    Status check_turn(const TxContext& tx, const SentMove& sent, const GameState& game,
                      const Digest& here) const;
    void stop_clock(const TxContext& tx, GameState& game);
    Digest advance(GameState& game, const Cursor& next);
    void mark_faulty(const TxContext& tx, const GameState& game, std::uint64_t proof_moves,
                     bool by_clock);
    std::uint32_t lost_ppm(const UnitState& unit);
    void record_proof(const Address& owner, const GameState& game, std::uint64_t moves);
    Amount fill_pot(const Address& owner, const Amount& taken, std::uint64_t order);
    void end(const Digest& id, GameState& game, GameStatus status);
    void pay_gas(const TxContext& tx, GameState& game);
    Amount take_stake(const Address& owner, std::uint32_t share_ppm);

    DisputeParams terms_;
    std::uint64_t chain_id_;
    Address contract_;
    std::optional<crypto::Eip712Domain> commitments_;
    std::uint64_t announcements_ = 0;
    std::map<Digest, Announcement> announced_;
    std::map<Digest, GameState> games_;
    std::map<Digest, UnitState> units_;
    std::map<std::pair<Digest, Digest>, Digest> answers_;  ///< by unit and cursor
    std::map<Address, Amount> tokens_, ether_;
    std::map<Address, Account> accounts_;
    std::map<std::uint64_t, Proof> proofs_;  ///< by order of the announcement
    std::map<std::uint64_t, Pot> pots_;      ///< numbered from 1
    Amount minted_, burned_, ether_in_, ether_out_;
    std::vector<Event> log_;
};

}  // namespace gym::game::sim
