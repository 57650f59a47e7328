#include "bindings.hpp"
#include "gym/chain/dispute_contracts.hpp"

namespace gym::chain {
namespace {

/// The values of a call or view, one after another into fields of several widths.
class Reader {
  public:
    explicit Reader(const std::vector<AbiValue>& values) : values_(values) {}

    Status read(Digest& out) { return set(out, next().digest()); }
    Status read(Address& out) { return set(out, next().address()); }
    Status read(Amount& out) { return set(out, next().amount()); }
    Status read(bool& out) { return set(out, next().boolean()); }
    Status read(std::uint64_t& out) { return set(out, next().u64()); }
    /// Fields that the contract keeps as narrow as they are here.
    template <class Narrow>
    requires(std::is_same_v<Narrow, std::uint8_t> || std::is_same_v<Narrow, std::uint32_t>) Status
        read(Narrow& out) {
        GYM_TRY(const std::uint64_t value, next().u64());
        out = static_cast<Narrow>(value);
        return {};
    }
    Status read(GameStatus& out) {
        GYM_TRY(const std::uint64_t value, next().u64());
        if (value > static_cast<std::uint64_t>(GameStatus::kMoot))
            return fail(ErrorCode::kMalformed, "no status of a game: " + std::to_string(value));
        out = static_cast<GameStatus>(value);
        return {};
    }
    template <class... Fields>
    Status all(Fields&... fields) {
        Status status;
        ((status = read(fields), status.ok()) && ...);
        return status;
    }

  private:
    const AbiValue& next() { return values_.at(at_++); }
    template <class T>
    static Status set(T& out, Result<T> value) {
        if (!value.ok()) return value.error();
        out = std::move(value).value();
        return {};
    }
    const std::vector<AbiValue>& values_;
    std::size_t at_ = 0;
};

}  // namespace

std::string_view to_string(GameStatus status) noexcept {
    switch (status) {
        case GameStatus::kNone:
            return "none";
        case GameStatus::kAsserterMoves:
            return "asserter_moves";
        case GameStatus::kChallengerMoves:
            return "challenger_moves";
        case GameStatus::kUpheld:
            return "upheld";
        case GameStatus::kFaultProven:
            return "fault_proven";
        case GameStatus::kFaultByClock:
            return "fault_by_clock";
        case GameStatus::kMoot:
            return "moot";
    }
    return "unknown";
}

ContractCall DisputeGame::announce(const Digest& announcement) const {
    return make_call(address_, "announce(bytes32)", {announcement},
                     "announce game " + announcement.hex());
}

ContractCall DisputeGame::open(Bytes call_data, const Amount& escrow_wei) const {
    return {address_, std::move(call_data), "open a game", escrow_wei};
}

ContractCall DisputeGame::move(Bytes call_data, std::string label) const {
    return {address_, std::move(call_data), std::move(label)};
}

ContractCall DisputeGame::reclaim(const Digest& unit, const Digest& salt) const {
    return make_call(address_, "reclaim(bytes32,bytes32)", {unit, salt},
                     "reclaim the bond of an announcement for unit " + unit.hex());
}

ContractCall DisputeGame::forfeit(const Digest& announcement) const {
    return make_call(address_, "forfeit(bytes32)", {announcement},
                     "burn the bond of announcement " + announcement.hex());
}

ContractCall DisputeGame::timeout(const Digest& game) const {
    return make_call(address_, "timeout(bytes32)", {game}, "end game " + game.hex() + " by clock");
}

ContractCall DisputeGame::close(const Digest& game) const {
    return make_call(address_, "close(bytes32)", {game}, "close game " + game.hex());
}

ContractCall DisputeGame::settle(const Digest& unit) const {
    return make_call(address_, "settle(bytes32)", {unit}, "settle unit " + unit.hex());
}

ContractCall DisputeGame::withdraw_ether() const {
    return make_call(address_, "withdrawEther()", {}, "withdraw ether from the dispute game");
}

Result<DisputeGame::Game> DisputeGame::game_of(ChainClient& client, const Digest& game,
                                               const BlockId& at) const {
    GYM_TRY(const auto values,
            call_view(client, address_, at, "gameOf(bytes32)", {game},
                      "_(bytes32,bytes32,address,uint40,uint24,uint24,uint8,uint48,uint8,uint8,"
                      "uint16,uint96,uint32,uint32)"));
    Game out;
    GYM_CHECK(Reader(values).all(out.unit, out.position, out.challenger, out.since_s,
                                 out.challenger_clock_s, out.asserter_clock_s, out.status,
                                 out.order, out.stage, out.height, out.moves, out.escrow_wei,
                                 out.asserter_gas, out.challenger_gas));
    return out;
}

Result<DisputeGame::Unit> DisputeGame::unit_of(ChainClient& client, const Digest& unit,
                                               const BlockId& at) const {
    GYM_TRY(const auto values, call_view(client, address_, at, "unitOf(bytes32)", {unit},
                                         "_(address,uint40,uint32,bool,bool,address,uint48)"));
    Unit out;
    GYM_CHECK(Reader(values).all(out.asserter, out.proven_at_s, out.games, out.locked, out.settled,
                                 out.finder, out.order));
    return out;
}

Result<DisputeGame::Clocks> DisputeGame::clocks_of(ChainClient& client, const Digest& game,
                                                   const BlockId& at) const {
    GYM_TRY(const auto values,
            call_view(client, address_, at, "clocksOf(bytes32)", {game}, "_(uint256,uint256)"));
    Clocks out;
    GYM_CHECK(Reader(values).all(out.challenger_s, out.asserter_s));
    return out;
}

Result<DisputeGame::Announcement> DisputeGame::announced(ChainClient& client,
                                                         const Digest& announcement,
                                                         const BlockId& at) const {
    GYM_TRY(const auto values, call_view(client, address_, at, "announced(bytes32)", {announcement},
                                         "_(uint256,uint256)"));
    Announcement out;
    GYM_CHECK(Reader(values).all(out.order, out.block_number));
    return out;
}

Result<Digest> DisputeGame::announcement_of(ChainClient& client, const Address& sender,
                                            const Digest& unit, const Digest& salt) const {
    GYM_TRY(const auto values, call_view(client, address_, BlockTag::kLatest,
                                         "announcementOf(address,bytes32,bytes32)",
                                         {sender, unit, salt}, "_(bytes32)"));
    return values[0].digest();
}

Result<Digest> DisputeGame::answer_to(ChainClient& client, const Digest& unit, const Digest& cursor,
                                      const BlockId& at) const {
    GYM_TRY(const auto values, call_view(client, address_, at, "answerTo(bytes32,bytes32)",
                                         {unit, cursor}, "_(bytes32)"));
    return values[0].digest();
}

Result<Amount> DisputeGame::ether_of(ChainClient& client, const Address& owner) const {
    return view_amount(client, address_, BlockTag::kLatest, "etherOf(address)", {owner});
}

Result<DisputeGame::Terms> DisputeGame::terms(ChainClient& client) const {
    GYM_TRY(const auto values, call_view(client, address_, BlockTag::kLatest, "terms()", {},
                                         "_(uint128,uint24,uint40,uint32,uint32,uint64)"));
    Terms out;
    GYM_CHECK(Reader(values).all(out.bond, out.clock_s, out.settling_s, out.announce_blocks,
                                 out.open_blocks, out.escrow_gas));
    return out;
}

Result<DisputeGame::Contracts> DisputeGame::contracts(ChainClient& client) const {
    GYM_TRY(const auto values,
            call_view(client, address_, BlockTag::kLatest, "contracts()", {},
                      "_(address,address,address,address,address,address,address,address,"
                      "address)"));
    Contracts out;
    GYM_CHECK(Reader(values).all(out.token, out.stake, out.opening, out.trees, out.steps,
                                 out.faults, out.elements, out.outer, out.outer_proofs));
    return out;
}

Result<DisputeGame::Opening> DisputeGame::opening(ChainClient& client) const {
    GYM_TRY(const Contracts where, contracts(client));
    GYM_TRY(const auto values, call_view(client, where.opening, BlockTag::kLatest, "parameters()",
                                         {}, "_(address,uint256)"));
    Opening out;
    GYM_CHECK(Reader(values).all(out.commitment_log, out.window_blocks));
    return out;
}

}  // namespace gym::chain
