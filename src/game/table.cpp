#include "gym/game/table.hpp"

#include <algorithm>
#include <string>

#include "gym/game/evidence.hpp"
#include "table_money.hpp"

namespace gym::game {
namespace {

/// DisputeTable.ANSWER_BYTES_MAX, and OTHER_BYTES_MAX.
constexpr std::size_t kAnswerBytesMax = 8192, kOtherBytesMax = 2048;

/// Bytes of answers whose length depends on how many deltas an aggregate has.
std::size_t payload_bytes(const Move& move) {
    if (const auto* m = std::get_if<move::DeclareOuter>(&move))
        return m->record.size() + Digest::kSize * m->deltas.size() + m->slots.size();
    const auto* m = std::get_if<move::PostColumn>(&move);
    return m == nullptr ? 0 : m->values.size();
}

bool has_too_much_data(const SentMove& sent) {
    const std::size_t size = encode_call(sent).size();
    return size > kAnswerBytesMax && size > payload_bytes(sent.move) + kOtherBytesMax;
}

Error conflict(const std::string& what) {
    return fail(ErrorCode::kConflict, what);
}

std::string text(std::uint64_t number) {
    return std::to_string(number);
}

}  // namespace

Status Table::announce(const Tx& tx, const Digest& announcement) {
    if (announced_.contains(announcement) || games_.contains(announcement))
        return conflict("the announcement is there already, or was");
    GYM_CHECK(money::take(tokens_[tx.sender], terms_.bond));
    announced_[announcement] = {++announcements_, tx.block};
    log_.emplace_back(event::Announced{announcement, tx.sender, announcements_, tx.block});
    return {};
}

Status Table::open(const Tx& tx, const Opening& opening, const Digest& salt) {
    return open_until(tx, opening, start_of(opening.unit, opening.facts), salt,
                      opening.epoch_block + terms_.window_blocks);
}

Status Table::open_conflict(const Tx& tx, const ConflictOpening& conflict, const Digest& salt) {
    const ConflictFinding& found = conflict.finding;
    const Opening opening{
        found.unit, found.asserter, {}, found.field, conflict.epoch_block.value_or(0)};
    Cursor start;
    start.node = found.unit;
    const std::uint64_t deadline =
        conflict.epoch_block ? *conflict.epoch_block + terms_.window_blocks : ~std::uint64_t{0};
    return open_until(tx, opening, start, salt, deadline);
}

/// @param deadline last block in which it can be opened.
Status Table::open_until(const Tx& tx, const Opening& opening, const Cursor& start,
                         const Digest& salt, std::uint64_t deadline) {
    const Digest id = announcement_of(tx.sender, opening.unit, salt);
    const auto announced = announced_.find(id);
    if (announced == announced_.end())
        return fail(ErrorCode::kNotFound, "the sender has announced nothing of this kind");
    const std::uint64_t from = announced->second.block + terms_.announce_blocks;
    const std::uint64_t to = std::min(from + terms_.open_blocks, deadline);
    if (tx.block < from || tx.block > to)
        return fail(tx.block < from ? ErrorCode::kOutOfRange : ErrorCode::kTimeout,
                    "it can be opened in blocks " + text(from) + " to " + text(to));
    const Amount needed = money::product(2 * tx.base_fee, terms_.escrow_gas);
    if (tx.value < needed)
        return fail(ErrorCode::kInsufficientFunds,
                    "the asserter's gas may cost " + needed.to_string() + " wei");
    UnitState& unit = units_[opening.unit];
    if (unit.settled) return conflict("the unit was settled before");

    GameState& game = games_[id];
    game.unit = opening.unit;
    game.challenger = tx.sender;
    game.order = announced->second.order;
    game.since = tx.time;
    game.challenger_clock = game.asserter_clock = terms_.clock;
    game.escrow = tx.value;
    money::add(ether_in_, tx.value);
    announced_.erase(announced);
    unit.asserter = opening.asserter;
    ++unit.games;
    if (!unit.locked) ++accounts_[opening.asserter].locks;
    unit.locked = true;
    log_.emplace_back(event::Opened{id, opening, tx.sender, start});
    if (!opening.fault) {
        go_on(game, start);
        return {};
    }
    log_.emplace_back(event::FaultFound{id, opening.unit, Finding{*opening.fault, {}, {}}});
    mark_faulty(tx, game);
    end(id, game, GameStatus::kFaultProven);
    return {};
}

Status Table::check_turn(const Tx& tx, const SentMove& sent, const GameState& game,
                         const Digest& here) const {
    const bool asserter = is_answer(sent.move);
    const Address& mover = asserter ? units_.at(game.unit).asserter : game.challenger;
    const GameStatus turn = asserter ? GameStatus::kAsserterMoves : GameStatus::kChallengerMoves;
    if (game.status != turn || tx.sender != mover)
        return fail(ErrorCode::kPermissionDenied, "it is not the sender's turn");
    if (here != game.position) return conflict("the game is at another cursor");
    const std::uint64_t clock = asserter ? game.asserter_clock : game.challenger_clock;
    if (tx.time - game.since > clock) return fail(ErrorCode::kTimeout, "the mover's clock ran out");
    return {};
}

void Table::stop_clock(const Tx& tx, GameState& game) {
    std::uint64_t& clock =
        game.status == GameStatus::kAsserterMoves ? game.asserter_clock : game.challenger_clock;
    clock -= tx.time - game.since;
    game.since = tx.time;
}

Status Table::play(const Tx& tx, const std::shared_ptr<const SentMove>& call) {
    const SentMove& sent = *call;
    const bool answer = is_answer(sent.move);
    if (answer && has_too_much_data(sent))
        return fail(ErrorCode::kOutOfRange, "more calldata than any answer has");
    const auto found = games_.find(sent.game);
    if (found == games_.end()) return fail(ErrorCode::kNotFound, "there is no such game");
    GameState& game = found->second;
    const Digest here = hash_of(sent.cursor);
    GYM_CHECK(check_turn(tx, sent, game, here));
    GYM_TRY(const Ruling ruling,
            decide(sent.cursor, sent.move, commitments_ ? &*commitments_ : nullptr));
    stop_clock(tx, game);
    if (const auto* finding = std::get_if<Finding>(&ruling)) {
        log_.emplace_back(event::FaultFound{sent.game, game.unit, *finding});
        mark_faulty(tx, game);
        end(sent.game, game, GameStatus::kFaultProven);
        return {};
    }
    const Cursor& next = std::get<Cursor>(ruling);
    const Digest position = go_on(game, next);
    if (answer) answers_[{game.unit, here}] = position;
    log_.emplace_back(event::Moved{sent.game, game.unit, answer, next, position, call});
    if (answer) pay_gas(tx, game);
    return {};
}

Digest Table::go_on(GameState& game, const Cursor& next) {
    game.position = hash_of(next);
    bool answered = next.answered;
    if (!answered) {
        const auto known = answers_.find({game.unit, game.position});
        if (known != answers_.end()) {
            game.position = known->second;
            answered = true;
        }
    }
    game.status = answered ? GameStatus::kChallengerMoves : GameStatus::kAsserterMoves;
    game.stage = next.stage;
    game.height = next.height;
    ++game.moves;
    return game.position;
}

void Table::pay_gas(const Tx& tx, GameState& game) {
    const std::uint64_t price = std::min(2 * tx.base_fee, tx.gas_price);
    const Amount paid = std::min(money::product(tx.gas, price), game.escrow);
    money::subtract(game.escrow, paid);
    money::add(ether_[units_.at(game.unit).asserter], paid);
}

void Table::mark_faulty(const Tx& tx, const GameState& game) {
    UnitState& unit = units_.at(game.unit);
    if (unit.proven_at == 0) {
        unit.proven_at = tx.time;
    } else if (unit.settled || tx.time > unit.proven_at + terms_.settling ||
               game.order > unit.order) {
        return;
    }
    unit.finder = game.challenger;
    unit.order = game.order;
    log_.emplace_back(event::UnitFaulty{game.unit, unit.asserter, unit.finder, unit.order});
}

void Table::end(const Digest& id, GameState& game, GameStatus status) {
    UnitState& unit = units_.at(game.unit);
    game.status = status;
    money::add(ether_[game.challenger], game.escrow);
    game.escrow = {};
    --unit.games;
    if (unit.games == 0 && unit.proven_at == 0) {
        unit.locked = false;
        --accounts_.at(unit.asserter).locks;
    }
    event::GameEnded ended{id, game.unit, status, {}, {}};
    if (status == GameStatus::kUpheld) {
        ended.to_asserter = money::share(terms_.bond, 1, 2);
        ended.burned = money::difference(terms_.bond, ended.to_asserter);
        money::add(tokens_[unit.asserter], ended.to_asserter);
        money::add(burned_, ended.burned);
    } else {
        money::add(tokens_[game.challenger], terms_.bond);
    }
    log_.emplace_back(ended);
}

Status Table::timeout(const Tx& tx, const Digest& id) {
    const auto found = games_.find(id);
    if (found == games_.end() || !is_open(found->second.status))
        return fail(ErrorCode::kNotFound, "the game is over, or never was");
    GameState& game = found->second;
    const bool asserter = game.status == GameStatus::kAsserterMoves;
    const std::uint64_t clock = asserter ? game.asserter_clock : game.challenger_clock;
    if (tx.time - game.since <= clock) return fail(ErrorCode::kOutOfRange, "the clock still runs");
    if (asserter) {
        mark_faulty(tx, game);
        end(id, game, GameStatus::kFaultByClock);
    } else {
        const bool faulty = units_.at(game.unit).proven_at != 0;
        end(id, game, faulty ? GameStatus::kMoot : GameStatus::kUpheld);
    }
    return {};
}

Status Table::close(const Tx& tx, const Digest& id) {
    const auto found = games_.find(id);
    if (found == games_.end() || !is_open(found->second.status))
        return fail(ErrorCode::kNotFound, "the game is over, or never was");
    GameState& game = found->second;
    const UnitState& unit = units_.at(game.unit);
    if (unit.proven_at == 0) return conflict("the unit is not known to be faulty");
    // Until the unit is settled the game may still prove the fault with an earlier announcement.
    if (tx.sender != game.challenger && !unit.settled)
        return fail(ErrorCode::kPermissionDenied, "it is the challenger's to close");
    end(id, game, GameStatus::kMoot);
    return {};
}

Status Table::settle(const Tx& tx, const Digest& id) {
    const auto found = units_.find(id);
    if (found == units_.end() || found->second.proven_at == 0)
        return conflict("the unit is not known to be faulty");
    UnitState& unit = found->second;
    if (unit.settled) return conflict("the unit was settled before");
    if (tx.time <= unit.proven_at + terms_.settling)
        return fail(ErrorCode::kOutOfRange, "the settling period is not over");
    unit.settled = true;
    unit.locked = false;
    const Amount taken = take_stake(unit.asserter);
    const Amount reward =
        money::share(taken, kPpm - terms_.burned_ppm - terms_.compensation_ppm, kPpm);
    money::add(tokens_[unit.finder], reward);
    money::add(burned_, money::difference(taken, reward));
    --accounts_.at(unit.asserter).locks;
    log_.emplace_back(event::UnitSettled{id, unit.asserter, unit.finder, taken});
    return {};
}

}  // namespace gym::game
