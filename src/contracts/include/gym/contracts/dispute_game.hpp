#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/contracts/call.hpp"
#include "gym/game/state.hpp"

namespace gym::contracts {

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
    game::Cursor cursor;
    Bytes data;  ///< call data of open(), openLate() or openConflict()
    friend bool operator==(const Opened&, const Opened&) = default;
};
struct Moved {
    Digest game;
    Digest unit;
    bool by_asserter = false;
    game::Cursor next;
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
    game::GameStatus status = game::GameStatus::kNone;
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
    Address sender;  ///< of the answer: the asserter, or its defender
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
    /// @param call_data of open(), openLate() or openConflict(). @param escrow_wei what the
    /// asserter's gas is paid from: at least 2 * base fee * escrow_gas of the terms when it is
    /// mined; what is left comes back.
    [[nodiscard]] ContractCall open(Bytes call_data, const Amount& escrow_wei) const;
    /// @param call_data of a move. @param label for people: "pickStep in game 0x..".
    [[nodiscard]] ContractCall move(Bytes call_data, std::string label) const;
    [[nodiscard]] ContractCall reclaim(const Digest& unit, const Digest& salt) const;
    [[nodiscard]] ContractCall forfeit(const Digest& announcement) const;
    [[nodiscard]] ContractCall timeout(const Digest& game) const;
    [[nodiscard]] ContractCall close(const Digest& game) const;
    [[nodiscard]] ContractCall settle(const Digest& unit) const;
    [[nodiscard]] ContractCall withdraw_ether() const;

    /// The seconds that both sides have left now.
    struct Clocks {
        std::uint64_t challenger_s = 0;
        std::uint64_t asserter_s = 0;
    };
    struct Announcement {
        std::uint64_t order = 0;  ///< 0: unknown, or ended
        std::uint64_t block_number = 0;
    };
    struct Contracts {
        Address token, stake, opening, trees, steps, faults, elements, outer, outer_proofs;
    };
    /// The parameters that OpeningRules was deployed with.
    struct Opening {
        Address commitment_log;
        std::uint64_t window_blocks = 0;  ///< after an epoch's root in which games are opened
    };
    [[nodiscard]] Result<game::GameState> game_of(
        chain::ChainClient& client, const Digest& game,
        const chain::BlockId& at = chain::BlockTag::kLatest) const;
    [[nodiscard]] Result<game::UnitState> unit_of(
        chain::ChainClient& client, const Digest& unit,
        const chain::BlockId& at = chain::BlockTag::kLatest) const;
    [[nodiscard]] Result<Clocks> clocks_of(
        chain::ChainClient& client, const Digest& game,
        const chain::BlockId& at = chain::BlockTag::kLatest) const;
    [[nodiscard]] Result<Announcement> announced(
        chain::ChainClient& client, const Digest& announcement,
        const chain::BlockId& at = chain::BlockTag::kLatest) const;
    [[nodiscard]] Result<Digest> announcement_of(chain::ChainClient& client, const Address& sender,
                                                 const Digest& unit, const Digest& salt) const;
    /// Hash of the cursor that followed the asserter's answer at `cursor`; zero if there is none.
    [[nodiscard]] Result<Digest> answer_to(
        chain::ChainClient& client, const Digest& unit, const Digest& cursor,
        const chain::BlockId& at = chain::BlockTag::kLatest) const;
    [[nodiscard]] Result<Amount> ether_of(chain::ChainClient& client, const Address& owner) const;
    [[nodiscard]] Result<game::DisputeTerms> terms(chain::ChainClient& client) const;
    [[nodiscard]] Result<Contracts> contracts(chain::ChainClient& client) const;
    /// Asks contracts() and then its OpeningRules.
    [[nodiscard]] Result<Opening> opening(chain::ChainClient& client) const;
    /// Of games about units alone: blocks before an epoch by which a published commitment has to be
    /// in it.
    [[nodiscard]] Result<std::uint64_t> notice_blocks(chain::ChainClient& client) const;

    [[nodiscard]] Result<std::optional<DisputeEvent>> parse_event(const chain::Log& log) const;
    /// Topic 0 of every DisputeEvent, for LogFilter.
    [[nodiscard]] static std::vector<Digest> topics();

  private:
    Address address_;
};

}  // namespace gym::contracts
