#include "dispute_simulator.hpp"

#include <algorithm>
#include <string>

#include "gym/common/assert.hpp"
#include "gym/common/ppm.hpp"
#include "gym/game/evidence.hpp"

namespace gym::game::sim {

// Sums whose results are known to fit.
namespace money {
namespace {
Amount must(const Result<Amount>& sum) {
    GYM_ASSERT(sum.ok(), "amounts are below 2^256 and not below zero");
    return *sum;
}
void add(Amount& to, const Amount& amount) {
    to = must(to.plus(amount));
}
void subtract(Amount& from, const Amount& amount) {
    from = must(from.minus(amount));
}
Amount difference(const Amount& a, const Amount& b) {
    return must(a.minus(b));
}
Amount product(std::uint64_t a, std::uint64_t b) {
    return must(Amount(a).mul_div(Amount(b), Amount(1)));
}
/// Rounded down.
Amount share(const Amount& amount, std::uint64_t numerator, std::uint64_t denominator) {
    return must(amount.mul_div(Amount(numerator), Amount(denominator)));
}
/// @errors kInsufficientFunds.
Status take(Amount& from, const Amount& amount) {
    if (from < amount)
        return fail(
            ErrorCode::kInsufficientFunds,
            "the account has " + from.to_string() + " where " + amount.to_string() + " are needed");
    subtract(from, amount);
    return {};
}

}  // namespace
}  // namespace money

namespace {

/// Stake.THAWS_MAX.
constexpr std::size_t kThawsMax = 64;

Status check_not_zero(const Amount& amount) {
    if (amount.is_zero()) return fail(ErrorCode::kInvalidArgument, "an amount of zero");
    return {};
}

template <class Map, class Key>
auto value_or_default(const Map& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? typename Map::mapped_type{} : found->second;
}

/// DisputeBank.GAME_MOVES and PROOF_MOVES.
constexpr std::uint64_t kGameMoves = 5;
constexpr std::uint64_t kProofMoves = 3;

/// DisputeTable.MOVE_BYTES_MAX.
constexpr std::size_t kMoveBytesMax = 8192;

bool has_too_much_data(const SentMove& sent) {
    return encode_call(sent).size() > kMoveBytesMax;
}

Error conflict(const std::string& what) {
    return fail(ErrorCode::kConflict, what);
}

std::string text(std::uint64_t number) {
    return std::to_string(number);
}

}  // namespace

Status DisputeSimulator::announce(const TxContext& tx, const Digest& announcement) {
    if (announced_.contains(announcement) || games_.contains(announcement))
        return conflict("the announcement is there already, or was");
    GYM_CHECK(money::take(tokens_[tx.sender], terms_.bond));
    announced_[announcement] = {++announcements_, tx.block};
    log_.emplace_back(event::Announced{announcement, tx.sender, announcements_, tx.block});
    return {};
}

Status DisputeSimulator::open(const TxContext& tx, const Opening& opening, const Digest& salt) {
    return open_until(tx, opening, start_of(opening.unit, opening.facts), salt,
                      opening.epoch_block + terms_.window_blocks);
}

Status DisputeSimulator::open_conflict(const TxContext& tx, const ConflictOpening& conflict,
                                       const Digest& salt) {
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
Status DisputeSimulator::open_until(const TxContext& tx, const Opening& opening,
                                    const Cursor& start, const Digest& salt,
                                    std::uint64_t deadline) {
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
    game.since_s = tx.time;
    game.challenger_clock_s = game.asserter_clock_s = terms_.clock_s;
    game.escrow_wei = tx.value;
    money::add(ether_in_, tx.value);
    announced_.erase(announced);
    unit.asserter = opening.asserter;
    ++unit.games;
    if (!unit.locked) ++accounts_[opening.asserter].locks;
    unit.locked = true;
    log_.emplace_back(event::Opened{id, opening, tx.sender, start});
    if (!opening.fault) {
        advance(game, start);
        return {};
    }
    log_.emplace_back(event::FaultFound{id, opening.unit, Finding{*opening.fault, {}, {}}});
    mark_faulty(tx, game, 0, false);
    end(id, game, GameStatus::kFaultProven);
    return {};
}

Status DisputeSimulator::check_turn(const TxContext& tx, const SentMove& sent,
                                    const GameState& game, const Digest& here) const {
    const bool asserter = is_answer(sent.move);
    const Address& mover = asserter ? units_.at(game.unit).asserter : game.challenger;
    const GameStatus turn = asserter ? GameStatus::kAsserterMoves : GameStatus::kChallengerMoves;
    if (game.status != turn || tx.sender != mover)
        return fail(ErrorCode::kPermissionDenied, "it is not the sender's turn");
    if (here != game.position) return conflict("the game is at another cursor");
    const std::uint64_t clock = asserter ? game.asserter_clock_s : game.challenger_clock_s;
    if (tx.time - game.since_s > clock)
        return fail(ErrorCode::kTimeout, "the mover's clock ran out");
    return {};
}

void DisputeSimulator::stop_clock(const TxContext& tx, GameState& game) {
    std::uint64_t& clock =
        game.status == GameStatus::kAsserterMoves ? game.asserter_clock_s : game.challenger_clock_s;
    clock -= tx.time - game.since_s;
    game.since_s = tx.time;
}

Status DisputeSimulator::play(const TxContext& tx, const std::shared_ptr<const SentMove>& call) {
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
        mark_faulty(tx, game, kProofMoves, false);
        end(sent.game, game, GameStatus::kFaultProven);
        return {};
    }
    const Cursor& next = std::get<Cursor>(ruling);
    const Digest position = advance(game, next);
    if (answer) answers_[{game.unit, here}] = position;
    log_.emplace_back(event::Moved{sent.game, game.unit, answer, next, position, call});
    if (answer) pay_gas(tx, game);
    return {};
}

Digest DisputeSimulator::advance(GameState& game, const Cursor& next) {
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

void DisputeSimulator::pay_gas(const TxContext& tx, GameState& game) {
    const std::uint64_t price = std::min(2 * tx.base_fee, tx.gas_price);
    const Amount paid = std::min(money::product(tx.gas, price), game.escrow_wei);
    money::subtract(game.escrow_wei, paid);
    money::add(ether_[units_.at(game.unit).asserter], paid);
}

void DisputeSimulator::mark_faulty(const TxContext& tx, const GameState& game,
                                   std::uint64_t proof_moves, bool by_clock) {
    UnitState& unit = units_.at(game.unit);
    const bool first = unit.proven_at_s == 0;
    if (first) {
        unit.proven_at_s = tx.time;
        unit.last_order = announcements_;
    } else if (unit.settled || tx.time > unit.proven_at_s + terms_.settling_s) {
        return;
    }
    unit.by_clock = by_clock && (first || unit.by_clock);
    if (game.order <= unit.last_order)
        record_proof(unit.asserter, game, kGameMoves + proof_moves + game.moves);
    if (!first && game.order > unit.order) return;
    unit.finder = game.challenger;
    unit.order = game.order;
    log_.emplace_back(event::UnitFaulty{game.unit, unit.asserter, unit.finder, unit.order});
}

void DisputeSimulator::end(const Digest& id, GameState& game, GameStatus status) {
    UnitState& unit = units_.at(game.unit);
    game.status = status;
    money::add(ether_[game.challenger], game.escrow_wei);
    game.escrow_wei = {};
    --unit.games;
    if (unit.games == 0 && unit.proven_at_s == 0) {
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

Status DisputeSimulator::timeout(const TxContext& tx, const Digest& id) {
    const auto found = games_.find(id);
    if (found == games_.end() || !is_open(found->second.status))
        return fail(ErrorCode::kNotFound, "the game is over, or never was");
    GameState& game = found->second;
    const bool asserter = game.status == GameStatus::kAsserterMoves;
    const std::uint64_t clock = asserter ? game.asserter_clock_s : game.challenger_clock_s;
    if (tx.time - game.since_s <= clock)
        return fail(ErrorCode::kOutOfRange, "the clock still runs");
    if (asserter) {
        mark_faulty(tx, game, 0, true);
        end(id, game, GameStatus::kFaultByClock);
    } else {
        const bool faulty = units_.at(game.unit).proven_at_s != 0;
        end(id, game, faulty ? GameStatus::kMoot : GameStatus::kUpheld);
    }
    return {};
}

Status DisputeSimulator::close(const TxContext& tx, const Digest& id) {
    const auto found = games_.find(id);
    if (found == games_.end() || !is_open(found->second.status))
        return fail(ErrorCode::kNotFound, "the game is over, or never was");
    GameState& game = found->second;
    const UnitState& unit = units_.at(game.unit);
    if (unit.proven_at_s == 0) return conflict("the unit is not known to be faulty");
    // Until the unit is settled the game may still prove the fault with an earlier announcement.
    if (tx.sender != game.challenger && !unit.settled)
        return fail(ErrorCode::kPermissionDenied, "it is the challenger's to close");
    end(id, game, GameStatus::kMoot);
    return {};
}

Status DisputeSimulator::settle(const TxContext& tx, const Digest& id) {
    const auto found = units_.find(id);
    if (found == units_.end() || found->second.proven_at_s == 0)
        return conflict("the unit is not known to be faulty");
    UnitState& unit = found->second;
    if (unit.settled) return conflict("the unit was settled before");
    if (tx.time <= unit.proven_at_s + terms_.settling_s)
        return fail(ErrorCode::kOutOfRange, "the settling period is not over");
    unit.settled = true;
    unit.locked = false;
    const Amount taken = take_stake(unit.asserter, lost_ppm(unit));
    const Amount reward =
        money::share(taken, kPpm - terms_.burned_ppm - terms_.compensation_ppm, kPpm);
    Amount paid = fill_pot(unit.asserter, taken, unit.order);
    money::add(tokens_[unit.finder], reward);
    money::add(paid, reward);
    money::add(burned_, money::difference(taken, paid));
    --accounts_.at(unit.asserter).locks;
    log_.emplace_back(event::UnitSettled{id, unit.asserter, unit.finder, taken});
    return {};
}

std::uint32_t DisputeSimulator::lost_ppm(const UnitState& unit) {
    if (!unit.by_clock) return kPpm;
    std::uint64_t& since = accounts_.at(unit.asserter).outage_since_s;
    if (since == 0) {
        since = unit.proven_at_s;
        return terms_.missed_clock_ppm;
    }
    return unit.proven_at_s <= since + terms_.settling_s ? 0 : kPpm;
}

// --- provers beside the finder ---

void DisputeSimulator::record_proof(const Address& owner, const GameState& game,
                                    std::uint64_t moves) {
    Account& account = accounts_[owner];
    if (account.pot == 0) account.pot = pots_.size() + 1;
    pots_[account.pot].moves += moves;
    proofs_[game.order] = {game.challenger, moves, account.pot};
}

/// @return what the pot of the games that were won since the last slash gets of it.
Amount DisputeSimulator::fill_pot(const Address& owner, const Amount& taken, std::uint64_t order) {
    Account& account = accounts_[owner];
    if (taken.is_zero() || account.pot == 0) return {};
    Pot& pot = pots_.at(account.pot);
    const auto own = proofs_.find(order);
    if (own != proofs_.end() && own->second.pot == account.pot) {
        pot.moves -= own->second.moves;
        proofs_.erase(own);
    }
    account.pot = 0;
    if (pot.moves != 0) pot.tokens = money::share(taken, terms_.compensation_ppm, kPpm);
    return pot.tokens;
}

Amount DisputeSimulator::due_to(std::uint64_t order) const {
    const auto proof = proofs_.find(order);
    if (proof == proofs_.end()) return {};
    const Pot& pot = pots_.at(proof->second.pot);
    return money::share(pot.tokens, proof->second.moves, pot.moves);
}

Status DisputeSimulator::compensate(const TxContext& /*tx*/, std::uint64_t order) {
    const Amount due = due_to(order);
    if (due.is_zero())
        return fail(ErrorCode::kNotFound, "nothing is due to the prover of this game");
    const Proof proof = proofs_.at(order);
    Pot& pot = pots_.at(proof.pot);
    money::subtract(pot.tokens, due);
    pot.moves -= proof.moves;
    money::add(tokens_[proof.prover], due);
    proofs_.erase(order);
    log_.emplace_back(event::Compensated{order, proof.prover, due});
    return {};
}

// --- stakes, announcements that were not opened, ether, views ---

void DisputeSimulator::mint(const Address& owner, const Amount& amount) {
    money::add(tokens_[owner], amount);
    money::add(minted_, amount);
}

Status DisputeSimulator::stake(const TxContext& tx, const Amount& amount) {
    GYM_CHECK(check_not_zero(amount));
    GYM_CHECK(money::take(tokens_[tx.sender], amount));
    money::add(accounts_[tx.sender].active, amount);
    return {};
}

Status DisputeSimulator::thaw(const TxContext& tx, const Amount& amount) {
    GYM_CHECK(check_not_zero(amount));
    Account& account = accounts_[tx.sender];
    if (account.thaws.size() >= kThawsMax)
        return fail(ErrorCode::kOutOfRange, "too many thaws are under way");
    GYM_CHECK(money::take(account.active, amount));
    const Amount shares =
        account.shares.is_zero() ? amount : amount.mul_div(account.shares, account.thawing).value();
    money::add(account.thawing, amount);
    money::add(account.shares, shares);
    account.thaws.push_back({shares, tx.time + terms_.thaw_period_s});
    return {};
}

Status DisputeSimulator::withdraw(const TxContext& tx) {
    Account& account = accounts_[tx.sender];
    if (account.locks > 0) return fail(ErrorCode::kPermissionDenied, "the stake is locked");
    const auto end = std::ranges::find_if(
        account.thaws, [&](const Thaw& thaw) { return thaw.available_at > tx.time; });
    if (end == account.thaws.begin()) return fail(ErrorCode::kNotFound, "nothing has thawed");
    for (auto thaw = account.thaws.begin(); thaw != end; ++thaw)
        if (!thaw->slashed_to_nothing) money::add(tokens_[tx.sender], account.redeem(thaw->shares));
    account.thaws.erase(account.thaws.begin(), end);
    return {};
}

Amount DisputeSimulator::take_stake(const Address& owner, std::uint32_t share_ppm) {
    Account& account = accounts_[owner];
    const Amount taken = money::share(account.staked(), share_ppm, kPpm);
    const Amount from_active = std::min(taken, account.active);
    money::subtract(account.active, from_active);
    money::subtract(account.thawing, money::difference(taken, from_active));
    if (!account.thawing.is_zero() || account.shares.is_zero()) return taken;
    // What was thawing is worth nothing, but can be "withdrawn".
    account.shares = {};
    for (Thaw& thaw : account.thaws)
        thaw.slashed_to_nothing = true;
    return taken;
}

Status DisputeSimulator::reclaim(const TxContext& tx, const Digest& unit, const Digest& salt) {
    const auto found = announced_.find(announcement_of(tx.sender, unit, salt));
    if (found == announced_.end())
        return fail(ErrorCode::kNotFound, "the sender has announced nothing of this kind");
    if (value_or_default(units_, unit).proven_at_s == 0)
        return fail(ErrorCode::kConflict, "the unit is not known to be faulty");
    announced_.erase(found);
    money::add(tokens_[tx.sender], terms_.bond);
    return {};
}

Status DisputeSimulator::forfeit(const TxContext& tx, const Digest& announcement) {
    const auto found = announced_.find(announcement);
    if (found == announced_.end())
        return fail(ErrorCode::kNotFound, "there is no such announcement");
    if (tx.block <= found->second.block + terms_.announce_blocks + terms_.open_blocks)
        return fail(ErrorCode::kOutOfRange, "it can still be opened");
    announced_.erase(found);
    money::add(burned_, terms_.bond);
    return {};
}

Status DisputeSimulator::withdraw_ether(const TxContext& tx) {
    Amount& owed = ether_[tx.sender];
    if (owed.is_zero()) return fail(ErrorCode::kNotFound, "nothing is owed to the sender");
    money::add(ether_out_, owed);
    owed = {};
    return {};
}

Digest DisputeSimulator::announcement_of(const Address& sender, const Digest& unit,
                                         const Digest& salt) const {
    return game::announcement_of(chain_id_, contract_, sender, unit, salt);
}

const GameState* DisputeSimulator::game(const Digest& game) const {
    const auto found = games_.find(game);
    return found == games_.end() ? nullptr : &found->second;
}

const UnitState* DisputeSimulator::unit(const Digest& unit) const {
    const auto found = units_.find(unit);
    return found == units_.end() ? nullptr : &found->second;
}

Digest DisputeSimulator::answer_to(const Digest& unit, const Digest& cursor) const {
    return value_or_default(answers_, std::pair{unit, cursor});
}

Amount DisputeSimulator::tokens_of(const Address& owner) const {
    return value_or_default(tokens_, owner);
}

Amount DisputeSimulator::Account::staked() const {
    Amount sum = active;
    money::add(sum, thawing);
    return sum;
}

Amount DisputeSimulator::Account::redeem(const Amount& part) {
    const Amount amount = part == shares ? thawing : part.mul_div(thawing, shares).value();
    money::subtract(thawing, amount);
    money::subtract(shares, part);
    return amount;
}

Amount DisputeSimulator::staked_by(const Address& owner) const {
    const auto found = accounts_.find(owner);
    return found == accounts_.end() ? Amount() : found->second.staked();
}

std::uint64_t DisputeSimulator::locks_of(const Address& owner) const {
    const auto found = accounts_.find(owner);
    return found == accounts_.end() ? 0 : found->second.locks;
}

Amount DisputeSimulator::ether_of(const Address& owner) const {
    return value_or_default(ether_, owner);
}

Amount DisputeSimulator::tokens_held() const {
    Amount sum;
    for (const auto& [owner, tokens] : tokens_)
        money::add(sum, tokens);
    for (const auto& [owner, account] : accounts_)
        money::add(sum, account.staked());
    for (const auto& [number, pot] : pots_)
        money::add(sum, pot.tokens);
    const auto open = std::ranges::count_if(
        games_, [](const auto& entry) { return is_open(entry.second.status); });
    const auto bonds = static_cast<std::uint64_t>(open) + announced_.size();
    money::add(sum, money::share(terms_.bond, bonds, 1));
    return sum;
}

Amount DisputeSimulator::ether_held() const {
    Amount sum;
    for (const auto& [owner, owed] : ether_)
        money::add(sum, owed);
    for (const auto& [id, game] : games_)
        money::add(sum, game.escrow_wei);
    return sum;
}

}  // namespace gym::game::sim
