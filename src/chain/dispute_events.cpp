#include "bindings.hpp"
#include "gym/chain/dispute_contracts.hpp"

namespace gym::chain {
namespace {

using Values = std::vector<AbiValue>;

Result<GameCursor> cursor_of(const AbiValue& value) {
    GYM_TRY(const AbiValue::List words, value.list());
    GameCursor out;
    GYM_TRY(const std::uint64_t stage, words[0].u64());
    GYM_TRY(out.answered, words[1].boolean());
    GYM_TRY(const std::uint64_t height, words[2].u64());
    GYM_TRY(out.index, words[3].u64());
    GYM_TRY(out.leaves, words[4].u64());
    GYM_TRY(out.node, words[5].digest());
    GYM_TRY(out.twin, words[6].digest());
    GYM_TRY(out.frame, words[7].digest());
    out.stage = static_cast<std::uint8_t>(stage);  // both are uint8 in the event
    out.height = static_cast<std::uint8_t>(height);
    return out;
}

Result<DisputeEvent> announced(const Values& values) {
    Announced event;
    GYM_TRY(event.announcement, values[0].digest());
    GYM_TRY(event.sender, values[1].address());
    GYM_TRY(event.order, values[2].u64());
    return DisputeEvent(event);
}

Result<DisputeEvent> announcement_ended(const Values& values) {
    AnnouncementEnded event;
    GYM_TRY(event.announcement, values[0].digest());
    GYM_TRY(event.returned, values[1].boolean());
    return DisputeEvent(event);
}

Result<DisputeEvent> opened(const Values& values) {
    Opened event;
    GYM_TRY(event.game, values[0].digest());
    GYM_TRY(event.unit, values[1].digest());
    GYM_TRY(event.asserter, values[2].address());
    GYM_TRY(event.challenger, values[3].address());
    GYM_TRY(event.cursor, cursor_of(values[4]));
    GYM_TRY(event.data, values[5].bytes());
    return DisputeEvent(std::move(event));
}

Result<DisputeEvent> moved(const Values& values) {
    Moved event;
    GYM_TRY(event.game, values[0].digest());
    GYM_TRY(event.unit, values[1].digest());
    GYM_TRY(event.by_asserter, values[2].boolean());
    GYM_TRY(event.next, cursor_of(values[3]));
    GYM_TRY(event.position, values[4].digest());
    GYM_TRY(event.data, values[5].bytes());
    return DisputeEvent(std::move(event));
}

Result<DisputeEvent> fault_found(const Values& values) {
    FaultFound event;
    GYM_TRY(event.game, values[0].digest());
    GYM_TRY(event.unit, values[1].digest());
    GYM_TRY(event.move, values[2].bytes());
    GYM_TRY(event.element, values[3].amount());
    GYM_TRY(event.claimed, values[4].digest());
    GYM_TRY(event.computed, values[5].digest());
    return DisputeEvent(std::move(event));
}

Result<DisputeEvent> game_ended(const Values& values) {
    GameEnded event;
    GYM_TRY(event.game, values[0].digest());
    GYM_TRY(event.unit, values[1].digest());
    GYM_TRY(const std::uint64_t status, values[2].u64());
    if (status > static_cast<std::uint64_t>(GameStatus::kMoot))
        return fail(ErrorCode::kMalformed, "no status of a game: " + std::to_string(status));
    event.status = static_cast<GameStatus>(status);
    GYM_TRY(event.burned, values[3].amount());
    GYM_TRY(event.to_asserter, values[4].amount());
    return DisputeEvent(event);
}

Result<DisputeEvent> unit_faulty(const Values& values) {
    UnitFaulty event;
    GYM_TRY(event.unit, values[0].digest());
    GYM_TRY(event.asserter, values[1].address());
    GYM_TRY(event.finder, values[2].address());
    GYM_TRY(event.order, values[3].u64());
    return DisputeEvent(event);
}

Result<DisputeEvent> unit_settled(const Values& values) {
    UnitSettled event;
    GYM_TRY(event.unit, values[0].digest());
    GYM_TRY(event.asserter, values[1].address());
    GYM_TRY(event.finder, values[2].address());
    GYM_TRY(event.taken, values[3].amount());
    return DisputeEvent(event);
}

Result<DisputeEvent> gas_paid(const Values& values) {
    GasPaid event;
    GYM_TRY(event.game, values[0].digest());
    GYM_TRY(event.asserter, values[1].address());
    GYM_TRY(event.amount_wei, values[2].amount());
    return DisputeEvent(event);
}

Result<DisputeEvent> ether_withdrawn(const Values& values) {
    EtherWithdrawn event;
    GYM_TRY(event.owner, values[0].address());
    GYM_TRY(event.amount_wei, values[1].amount());
    return DisputeEvent(event);
}

struct Kind {
    Declaration declaration;
    Result<DisputeEvent> (*read)(const Values& values);
};

// "cursor" is the struct Cursor of DisputeTypes.sol.
const Kind kKinds[] = {
    {Declaration::of(
         "Announced(bytes32 indexed announcement, address indexed sender, uint256 order)"),
     announced},
    {Declaration::of("AnnouncementEnded(bytes32 indexed announcement, bool returned)"),
     announcement_ended},
    {Declaration::of("Opened(bytes32 indexed game, bytes32 indexed unit, address indexed asserter, "
                     "address challenger, (uint8,bool,uint8,uint64,uint64,bytes32,bytes32,bytes32) "
                     "cursor, bytes data)"),
     opened},
    {Declaration::of("Moved(bytes32 indexed game, bytes32 indexed unit, bool byAsserter, "
                     "(uint8,bool,uint8,uint64,uint64,bytes32,bytes32,bytes32) next, bytes32 "
                     "position, bytes data)"),
     moved},
    {Declaration::of("FaultFound(bytes32 indexed game, bytes32 indexed unit, bytes4 move, uint256 "
                     "element, bytes32 claimed, bytes32 computed)"),
     fault_found},
    {Declaration::of("GameEnded(bytes32 indexed game, bytes32 indexed unit, uint8 status, uint256 "
                     "burned, uint256 toAsserter)"),
     game_ended},
    {Declaration::of("UnitFaulty(bytes32 indexed unit, address indexed asserter, address finder, "
                     "uint256 order)"),
     unit_faulty},
    {Declaration::of("UnitSettled(bytes32 indexed unit, address indexed asserter, address indexed "
                     "finder, uint256 taken)"),
     unit_settled},
    {Declaration::of("GasPaid(bytes32 indexed game, address indexed asserter, uint256 amount)"),
     gas_paid},
    {Declaration::of("EtherWithdrawn(address indexed owner, uint256 amount)"), ether_withdrawn},
};

}  // namespace

std::vector<Digest> DisputeGame::topics() {
    std::vector<Digest> out;
    for (const Kind& kind : kKinds)
        out.push_back(kind.declaration.signature.hash());
    return out;
}

Result<std::optional<DisputeEvent>> DisputeGame::parse_event(const Log& log) const {
    for (const Kind& kind : kKinds) {
        if (!is_event(kind.declaration, address_, log)) continue;
        GYM_TRY(const Values values, decode_event(kind.declaration, log));
        GYM_TRY(DisputeEvent event, kind.read(values));
        return std::optional<DisputeEvent>(std::move(event));
    }
    return std::optional<DisputeEvent>();
}

}  // namespace gym::chain
