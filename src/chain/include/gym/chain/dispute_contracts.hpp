#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/chain/contracts.hpp"
#include "gym/chain/game_status.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"

// Bindings of Stake and DisputeGame (contracts/README.md), as those of contracts.hpp. The moves of
// a game are call data here: gym/game/calldata.hpp writes and reads them.

namespace gym::chain {

// --- Stake
// ---------------------------------------------------------------------------------------------------

struct Staked {
    Address owner;
    Address from;
    Amount amount;
    friend bool operator==(const Staked&, const Staked&) = default;
};
struct ThawStarted {
    Address owner;
    Amount amount;
    Amount shares;  ///< of the owner's thawing pool; a slash makes every share worth less
    std::uint64_t available_at_s = 0;
    friend bool operator==(const ThawStarted&, const ThawStarted&) = default;
};
struct StakeWithdrawn {
    Address owner;
    Amount amount;
    friend bool operator==(const StakeWithdrawn&, const StakeWithdrawn&) = default;
};
struct LocksChanged {
    Address owner;
    std::uint64_t locks = 0;  ///< units with games that are open against the owner
    friend bool operator==(const LocksChanged&, const LocksChanged&) = default;
};
struct Slashed {
    Address owner;
    Address finder;
    Address compensated;  ///< zero: nobody
    Amount burned;
    Amount reward;
    Amount compensation;
    friend bool operator==(const Slashed&, const Slashed&) = default;
};
using StakeEvent = std::variant<Staked, ThawStarted, StakeWithdrawn, LocksChanged, Slashed>;

class Stake {
  public:
    explicit Stake(Address address) : address_(address) {}
    [[nodiscard]] const Address& address() const noexcept { return address_; }

    [[nodiscard]] ContractCall stake(const Address& owner, const Amount& amount) const;
    /// The sender of the transaction must be who signed the permit.
    [[nodiscard]] ContractCall stake_with_permit(const Address& owner, const Amount& amount,
                                                 std::uint64_t deadline_s,
                                                 const crypto::Signature& permit) const;
    [[nodiscard]] ContractCall thaw(const Amount& amount) const;
    [[nodiscard]] ContractCall withdraw() const;

    struct Holding {
        Amount active;            ///< backs units
        Amount thawing;           ///< backs nothing new, can still be slashed
        std::uint64_t locks = 0;  ///< nothing can be withdrawn unless 0
    };
    [[nodiscard]] Result<Holding> stake_of(ChainClient& client, const Address& owner,
                                           const BlockId& at = BlockTag::kLatest) const;
    [[nodiscard]] Result<std::uint64_t> thaw_count(ChainClient& client, const Address& owner,
                                                   const BlockId& at = BlockTag::kLatest) const;
    [[nodiscard]] Result<std::uint64_t> thaw_period_s(ChainClient& client) const;
    [[nodiscard]] Result<Address> token(ChainClient& client) const;
    [[nodiscard]] Result<Address> game(ChainClient& client) const;

    [[nodiscard]] Result<std::optional<StakeEvent>> parse_event(const Log& log) const;
    [[nodiscard]] static std::vector<Digest> topics();

  private:
    Address address_;
};

// --- DisputeGame
// -----------------------------------------------------------------------------------------

/// Where a game is: Cursor of contracts/src/dispute/DisputeTypes.sol, word for word.
struct GameCursor {
    std::uint8_t stage = 0;
    bool answered = false;
    std::uint8_t height = 0;
    std::uint64_t index = 0;
    std::uint64_t leaves = 0;
    Digest node;
    Digest twin;
    Digest frame;
    friend bool operator==(const GameCursor&, const GameCursor&) = default;
};

struct Announced {
    Digest announcement;
    Address sender;
    std::uint64_t order = 0;
    friend bool operator==(const Announced&, const Announced&) = default;
};
struct AnnouncementEnded {
    Digest announcement;
    bool returned = false;  ///< else the bond was burned
    friend bool operator==(const AnnouncementEnded&, const AnnouncementEnded&) = default;
};
struct Opened {
    Digest game;  ///< the announcement that it was opened with
    Digest unit;
    Address asserter;
    Address challenger;
    GameCursor cursor;
    Bytes data;  ///< call data of open() or openConflict()
    friend bool operator==(const Opened&, const Opened&) = default;
};
struct Moved {
    Digest game;
    Digest unit;
    bool by_asserter = false;
    GameCursor next;
    Digest position;  ///< hash of where the game is: further on than `next` if that was answered
                      ///< before
    Bytes data;       ///< call data of the move
    friend bool operator==(const Moved&, const Moved&) = default;
};
struct FaultFound {
    Digest game;
    Digest unit;
    Bytes move;      ///< selector, 4 bytes
    Amount element;  ///< of the tensor, or which leaf, slot or field
    Digest claimed;
    Digest computed;
    friend bool operator==(const FaultFound&, const FaultFound&) = default;
};
struct GameEnded {
    Digest game;
    Digest unit;
    GameStatus status = GameStatus::kNone;
    Amount burned;       ///< of the bond
    Amount to_asserter;  ///< of the bond
    friend bool operator==(const GameEnded&, const GameEnded&) = default;
};
struct UnitFaulty {
    Digest unit;
    Address asserter;
    Address finder;
    std::uint64_t order = 0;
    friend bool operator==(const UnitFaulty&, const UnitFaulty&) = default;
};
struct UnitSettled {
    Digest unit;
    Address asserter;
    Address finder;
    Amount taken;
    friend bool operator==(const UnitSettled&, const UnitSettled&) = default;
};
struct GasPaid {
    Digest game;
    Address asserter;
    Amount amount_wei;
    friend bool operator==(const GasPaid&, const GasPaid&) = default;
};
struct EtherWithdrawn {
    Address owner;
    Amount amount_wei;
    friend bool operator==(const EtherWithdrawn&, const EtherWithdrawn&) = default;
};
using DisputeEvent = std::variant<Announced, AnnouncementEnded, Opened, Moved, FaultFound,
                                  GameEnded, UnitFaulty, UnitSettled, GasPaid, EtherWithdrawn>;

class DisputeGame {
  public:
    explicit DisputeGame(Address address) : address_(address) {}
    [[nodiscard]] const Address& address() const noexcept { return address_; }

    [[nodiscard]] ContractCall announce(const Digest& announcement) const;
    /// @param call_data of open() or openConflict(). @param escrow_wei what the asserter's gas is
    /// paid from: at least 2 * base fee * escrow_gas of the terms when it is mined; what is left
    /// comes back.
    [[nodiscard]] ContractCall open(Bytes call_data, const Amount& escrow_wei) const;
    /// @param call_data of a move. @param label for people: "pickStep in game 0x..".
    [[nodiscard]] ContractCall move(Bytes call_data, std::string label) const;
    [[nodiscard]] ContractCall reclaim(const Digest& unit, const Digest& salt) const;
    [[nodiscard]] ContractCall forfeit(const Digest& announcement) const;
    [[nodiscard]] ContractCall timeout(const Digest& game) const;
    [[nodiscard]] ContractCall close(const Digest& game) const;
    [[nodiscard]] ContractCall settle(const Digest& unit) const;
    [[nodiscard]] ContractCall withdraw_ether() const;

    /// Game of IDisputeGame; all zero if there is none.
    struct Game {
        Digest unit;
        Digest position;  ///< keccak256 of the cursor
        Address challenger;
        std::uint64_t since_s = 0;
        std::uint64_t challenger_clock_s = 0;  ///< left at since_s
        std::uint64_t asserter_clock_s = 0;
        GameStatus status = GameStatus::kNone;
        std::uint64_t order = 0;
        std::uint8_t stage = 0;
        std::uint8_t height = 0;
        std::uint32_t moves = 0;
        Amount escrow_wei;
        std::uint64_t asserter_gas = 0;
        std::uint64_t challenger_gas = 0;
    };
    struct Unit {
        Address asserter;
        std::uint64_t proven_at_s = 0;  ///< 0: no fault is proven
        std::uint64_t games = 0;        ///< open ones
        bool locked = false;
        bool settled = false;
        Address finder;
        std::uint64_t order = 0;
    };
    struct Clocks {
        std::uint64_t challenger_s = 0;
        std::uint64_t asserter_s = 0;
    };
    struct Announcement {
        std::uint64_t order = 0;  ///< 0: unknown, or gone
        std::uint64_t block_number = 0;
    };
    struct Terms {
        Amount bond;
        std::uint64_t clock_s = 0;
        std::uint64_t settling_s = 0;
        std::uint64_t announce_blocks = 0;
        std::uint64_t open_blocks = 0;
        std::uint64_t escrow_gas = 0;
    };
    struct Contracts {
        Address token, stake, opening, trees, steps, faults, elements, outer, outer_proofs;
    };
    /// What OpeningRules was deployed with.
    struct Opening {
        Address commitment_log;
        std::uint64_t window_blocks = 0;  ///< after an epoch's root in which games are opened
    };
    [[nodiscard]] Result<Game> game_of(ChainClient& client, const Digest& game,
                                       const BlockId& at = BlockTag::kLatest) const;
    [[nodiscard]] Result<Unit> unit_of(ChainClient& client, const Digest& unit,
                                       const BlockId& at = BlockTag::kLatest) const;
    [[nodiscard]] Result<Clocks> clocks_of(ChainClient& client, const Digest& game,
                                           const BlockId& at = BlockTag::kLatest) const;
    [[nodiscard]] Result<Announcement> announced(ChainClient& client, const Digest& announcement,
                                                 const BlockId& at = BlockTag::kLatest) const;
    [[nodiscard]] Result<Digest> announcement_of(ChainClient& client, const Address& sender,
                                                 const Digest& unit, const Digest& salt) const;
    /// Hash of the cursor that followed the asserter's answer at `cursor`; zero if there is none.
    [[nodiscard]] Result<Digest> answer_to(ChainClient& client, const Digest& unit,
                                           const Digest& cursor,
                                           const BlockId& at = BlockTag::kLatest) const;
    [[nodiscard]] Result<Amount> ether_of(ChainClient& client, const Address& owner) const;
    [[nodiscard]] Result<Terms> terms(ChainClient& client) const;
    [[nodiscard]] Result<Contracts> contracts(ChainClient& client) const;
    /// Asks contracts() and then its OpeningRules.
    [[nodiscard]] Result<Opening> opening(ChainClient& client) const;

    [[nodiscard]] Result<std::optional<DisputeEvent>> parse_event(const Log& log) const;
    /// Topic 0 of every DisputeEvent, for LogFilter.
    [[nodiscard]] static std::vector<Digest> topics();

  private:
    Address address_;
};

}  // namespace gym::chain
