#include "gym/game/table.hpp"

#include <algorithm>
#include <string>

#include "gym/game/evidence.hpp"
#include "table_money.hpp"

namespace gym::game {
namespace {

/// DisputeGame.ANSWER_BYTES_MAX.
constexpr std::size_t kAnswerBytesMax = 8192;

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
    const Digest id = announcement_of(tx.sender, opening.unit, salt);
    const auto announced = announced_.find(id);
    if (announced == announced_.end())
        return fail(ErrorCode::kNotFound, "the sender has announced nothing of this kind");
    const std::uint64_t from = announced->second.block + terms_.announce_blocks;
    const std::uint64_t to =
        std::min(from + terms_.open_blocks, opening.epoch_block + terms_.window_blocks);
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
    const Cursor start = start_of(opening.unit, opening.facts);
    log_.emplace_back(event::Opened{id, opening, tx.sender, start});
    if (!opening.fault) {
        go_on(game, start);
        return {};
    }
    log_.emplace_back(event::FaultFound{id, opening.unit, Finding{*opening.fault, {}, {}}});
    mark_faulty(tx, game);
    end(id, game, GameStatus::fault_proven);
    return {};
}

Status Table::check_turn(const Tx& tx, const SentMove& sent, const GameState& game,
                         const Digest& here) const {
    const bool asserter = is_answer(sent.move);
    const Address& mover = asserter ? units_.at(game.unit).asserter : game.challenger;
    const GameStatus turn = asserter ? GameStatus::asserter_moves : GameStatus::challenger_moves;
    if (game.status != turn || tx.sender != mover)
        return fail(ErrorCode::kPermissionDenied, "it is not the sender's turn");
    if (here != game.position) return conflict("the game is at another cursor");
    const std::uint64_t clock = asserter ? game.asserter_clock : game.challenger_clock;
    if (tx.time - game.since > clock) return fail(ErrorCode::kTimeout, "the mover's clock ran out");
    return {};
}

void Table::stop_clock(const Tx& tx, GameState& game) {
    std::uint64_t& clock =
        game.status == GameStatus::asserter_moves ? game.asserter_clock : game.challenger_clock;
    clock -= tx.time - game.since;
    game.since = tx.time;
}

Status Table::play(const Tx& tx, const SentMove& sent) {
    const bool answer = is_answer(sent.move);
    if (answer && encode_call(sent).size() > kAnswerBytesMax)
        return fail(ErrorCode::kOutOfRange, "more calldata than any answer has");
    const auto found = games_.find(sent.game);
    if (found == games_.end()) return fail(ErrorCode::kNotFound, "there is no such game");
    GameState& game = found->second;
    const Digest here = hash_of(sent.cursor);
    GYM_CHECK(check_turn(tx, sent, game, here));
    GYM_TRY(const Ruling ruling, decide(sent.cursor, sent.move));
    stop_clock(tx, game);
    if (const auto* finding = std::get_if<Finding>(&ruling)) {
        log_.emplace_back(event::FaultFound{sent.game, game.unit, *finding});
        mark_faulty(tx, game);
        end(sent.game, game, GameStatus::fault_proven);
        return {};
    }
    const Cursor& next = std::get<Cursor>(ruling);
    const Digest position = go_on(game, next);
    if (answer) answers_[{game.unit, here}] = position;
    log_.emplace_back(event::Moved{sent.game, game.unit, answer, next, position,
                                   std::make_shared<const SentMove>(sent)});
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
    game.status = answered ? GameStatus::challenger_moves : GameStatus::asserter_moves;
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
    if (status == GameStatus::upheld) {
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
    const bool asserter = game.status == GameStatus::asserter_moves;
    const std::uint64_t clock = asserter ? game.asserter_clock : game.challenger_clock;
    if (tx.time - game.since <= clock) return fail(ErrorCode::kOutOfRange, "the clock still runs");
    if (asserter) {
        mark_faulty(tx, game);
        end(id, game, GameStatus::fault_by_clock);
    } else {
        const bool faulty = units_.at(game.unit).proven_at != 0;
        end(id, game, faulty ? GameStatus::moot : GameStatus::upheld);
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
    end(id, game, GameStatus::moot);
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
        money::share(taken, money::kPpm - terms_.burned_ppm - terms_.compensation_ppm, money::kPpm);
    money::add(tokens_[unit.finder], reward);
    money::add(burned_, money::difference(taken, reward));
    --accounts_.at(unit.asserter).locks;
    log_.emplace_back(event::UnitSettled{id, unit.asserter, unit.finder, taken});
    return {};
}

}  // namespace gym::game
