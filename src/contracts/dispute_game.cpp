#include "gym/contracts/dispute_game.hpp"

#include "bindings.hpp"

namespace gym::contracts {
namespace {

// A "cursor" is the struct Cursor of DisputeTypes.sol.
const std::vector<EventBinding<DisputeEvent>>& events() {
    static const std::vector<EventBinding<DisputeEvent>> all = {
        event_of<DisputeEvent>(
            "Announced(bytes32 indexed announcement, address indexed sender, uint256 order)",
            &Announced::announcement, &Announced::sender, &Announced::order),
        event_of<DisputeEvent>("AnnouncementEnded(bytes32 indexed announcement, bool returned)",
                               &AnnouncementEnded::announcement, &AnnouncementEnded::returned),
        event_of<DisputeEvent>(
            "Opened(bytes32 indexed game, bytes32 indexed unit, address indexed asserter, address "
            "challenger, (uint8,bool,uint8,uint64,uint64,bytes32,bytes32,bytes32) cursor, bytes "
            "data)",
            &Opened::game, &Opened::unit, &Opened::asserter, &Opened::challenger, &Opened::cursor,
            &Opened::data),
        event_of<DisputeEvent>(
            "Moved(bytes32 indexed game, bytes32 indexed unit, bool byAsserter, "
            "(uint8,bool,uint8,uint64,uint64,bytes32,bytes32,bytes32) next, bytes32 position, "
            "bytes data)",
            &Moved::game, &Moved::unit, &Moved::by_asserter, &Moved::next, &Moved::position,
            &Moved::data),
        event_of<DisputeEvent>(
            "FaultFound(bytes32 indexed game, bytes32 indexed unit, bytes4 move, uint256 element, "
            "bytes32 claimed, bytes32 computed)",
            &FaultFound::game, &FaultFound::unit, &FaultFound::move, &FaultFound::element,
            &FaultFound::claimed, &FaultFound::computed),
        event_of<DisputeEvent>(
            "GameEnded(bytes32 indexed game, bytes32 indexed unit, uint8 status, "
            "uint256 burned, uint256 toAsserter)",
            &GameEnded::game, &GameEnded::unit, &GameEnded::status, &GameEnded::burned,
            &GameEnded::to_asserter),
        event_of<DisputeEvent>("UnitFaulty(bytes32 indexed unit, address indexed asserter, address "
                               "finder, uint256 order)",
                               &UnitFaulty::unit, &UnitFaulty::asserter, &UnitFaulty::finder,
                               &UnitFaulty::order),
        event_of<DisputeEvent>("UnitSettled(bytes32 indexed unit, address indexed asserter, "
                               "address indexed finder, uint256 taken)",
                               &UnitSettled::unit, &UnitSettled::asserter, &UnitSettled::finder,
                               &UnitSettled::taken),
        event_of<DisputeEvent>(
            "GasPaid(bytes32 indexed game, address indexed sender, uint256 amount)", &GasPaid::game,
            &GasPaid::sender, &GasPaid::amount_wei),
        event_of<DisputeEvent>("EtherWithdrawn(address indexed owner, uint256 amount)",
                               &EtherWithdrawn::owner, &EtherWithdrawn::amount_wei),
    };
    return all;
}

}  // namespace

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

Result<game::GameState> DisputeGame::game_of(chain::ChainClient& client, const Digest& game,
                                             const chain::BlockId& at) const {
    GYM_TRY(const auto values,
            call_view(client, address_, at, "gameOf(bytes32)", {game},
                      "_(bytes32,bytes32,address,uint40,uint24,uint24,uint8,uint48,uint8,uint8,"
                      "uint16,uint96,uint32,uint32)"));
    game::GameState out;
    GYM_CHECK(read_all(values, out.unit, out.position, out.challenger, out.since_s,
                       out.challenger_clock_s, out.asserter_clock_s, out.status, out.order,
                       out.stage, out.height, out.moves, out.escrow_wei, out.asserter_gas,
                       out.challenger_gas));
    return out;
}

Result<game::UnitState> DisputeGame::unit_of(chain::ChainClient& client, const Digest& unit,
                                             const chain::BlockId& at) const {
    GYM_TRY(const auto values,
            call_view(client, address_, at, "unitOf(bytes32)", {unit},
                      "_(address,uint40,uint32,bool,bool,bool,address,uint48,uint48)"));
    game::UnitState out;
    GYM_CHECK(read_all(values, out.asserter, out.proven_at_s, out.games, out.locked, out.settled,
                       out.by_clock, out.finder, out.order, out.last_order));
    return out;
}

Result<DisputeGame::Clocks> DisputeGame::clocks_of(chain::ChainClient& client, const Digest& game,
                                                   const chain::BlockId& at) const {
    GYM_TRY(const auto values,
            call_view(client, address_, at, "clocksOf(bytes32)", {game}, "_(uint256,uint256)"));
    Clocks out;
    GYM_CHECK(read_all(values, out.challenger_s, out.asserter_s));
    return out;
}

Result<DisputeGame::Announcement> DisputeGame::announced(chain::ChainClient& client,
                                                         const Digest& announcement,
                                                         const chain::BlockId& at) const {
    GYM_TRY(const auto values, call_view(client, address_, at, "announced(bytes32)", {announcement},
                                         "_(uint256,uint256)"));
    Announcement out;
    GYM_CHECK(read_all(values, out.order, out.block_number));
    return out;
}

Result<Digest> DisputeGame::announcement_of(chain::ChainClient& client, const Address& sender,
                                            const Digest& unit, const Digest& salt) const {
    GYM_TRY(const auto values, call_view(client, address_, chain::BlockTag::kLatest,
                                         "announcementOf(address,bytes32,bytes32)",
                                         {sender, unit, salt}, "_(bytes32)"));
    return values[0].digest();
}

Result<Digest> DisputeGame::answer_to(chain::ChainClient& client, const Digest& unit,
                                      const Digest& cursor, const chain::BlockId& at) const {
    GYM_TRY(const auto values, call_view(client, address_, at, "answerTo(bytes32,bytes32)",
                                         {unit, cursor}, "_(bytes32)"));
    return values[0].digest();
}

Result<Amount> DisputeGame::ether_of(chain::ChainClient& client, const Address& owner) const {
    return view_amount(client, address_, chain::BlockTag::kLatest, "etherOf(address)", {owner});
}

Result<game::DisputeTerms> DisputeGame::terms(chain::ChainClient& client) const {
    GYM_TRY(const auto values, call_view(client, address_, chain::BlockTag::kLatest, "terms()", {},
                                         "_(uint128,uint24,uint40,uint32,uint32,uint64,uint32)"));
    game::DisputeTerms out;
    GYM_CHECK(read_all(values, out.bond, out.clock_s, out.settling_s, out.announce_blocks,
                       out.open_blocks, out.escrow_gas, out.missed_clock_ppm));
    return out;
}

Result<DisputeGame::Contracts> DisputeGame::contracts(chain::ChainClient& client) const {
    GYM_TRY(const auto values,
            call_view(client, address_, chain::BlockTag::kLatest, "contracts()", {},
                      "_(address,address,address,address,address,address,address,address,"
                      "address)"));
    Contracts out;
    GYM_CHECK(read_all(values, out.token, out.stake, out.opening, out.trees, out.steps, out.faults,
                       out.elements, out.outer, out.outer_proofs));
    return out;
}

Result<DisputeGame::Opening> DisputeGame::opening(chain::ChainClient& client) const {
    GYM_TRY(const Contracts where, contracts(client));
    GYM_TRY(const auto values, call_view(client, where.opening, chain::BlockTag::kLatest,
                                         "parameters()", {}, "_(address,uint256)"));
    Opening out;
    GYM_CHECK(read_all(values, out.commitment_log, out.window_blocks));
    return out;
}

Result<std::uint64_t> DisputeGame::notice_blocks(chain::ChainClient& client) const {
    GYM_TRY(const Contracts where, contracts(client));
    GYM_TRY(const auto values, call_view(client, where.opening, chain::BlockTag::kLatest,
                                         "noticeBlocks()", {}, "_(uint256)"));
    std::uint64_t out = 0;
    GYM_CHECK(read_all(values, out));
    return out;
}

std::vector<Digest> DisputeGame::topics() {
    return topics_of(events());
}

Result<std::optional<DisputeEvent>> DisputeGame::parse_event(const chain::Log& log) const {
    return find_event(events(), address_, log);
}

}  // namespace gym::contracts
