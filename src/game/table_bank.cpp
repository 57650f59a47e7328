#include <algorithm>

#include "gym/game/evidence.hpp"
#include "gym/game/table.hpp"
#include "table_money.hpp"

// Of the table: stakes, what is announced and not opened, ether, and what can be looked at.
namespace gym::game {
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

}  // namespace

void Table::mint(const Address& owner, const Amount& amount) {
    money::add(tokens_[owner], amount);
    money::add(minted_, amount);
}

Status Table::stake(const Tx& tx, const Amount& amount) {
    GYM_CHECK(check_not_zero(amount));
    GYM_CHECK(money::take(tokens_[tx.sender], amount));
    money::add(accounts_[tx.sender].active, amount);
    return {};
}

Status Table::thaw(const Tx& tx, const Amount& amount) {
    GYM_CHECK(check_not_zero(amount));
    Account& account = accounts_[tx.sender];
    if (account.thaws.size() >= kThawsMax)
        return fail(ErrorCode::kOutOfRange, "too many thaws are under way");
    GYM_CHECK(money::take(account.active, amount));
    account.thaws.push_back({amount, tx.time + terms_.thaw_period});
    return {};
}

Status Table::withdraw(const Tx& tx) {
    Account& account = accounts_[tx.sender];
    if (account.locks > 0) return fail(ErrorCode::kPermissionDenied, "the stake is locked");
    const auto end = std::ranges::find_if(
        account.thaws, [&](const Thaw& thaw) { return thaw.available_at > tx.time; });
    if (end == account.thaws.begin()) return fail(ErrorCode::kNotFound, "nothing has thawed");
    for (auto thaw = account.thaws.begin(); thaw != end; ++thaw)
        money::add(tokens_[tx.sender], thaw->amount);
    account.thaws.erase(account.thaws.begin(), end);
    return {};
}

Amount Table::take_stake(const Address& owner) {
    Account& account = accounts_[owner];
    Amount taken = account.active;
    account.active = {};
    // What was thawing is worth nothing, but can be "withdrawn".
    for (Thaw& thaw : account.thaws) {
        money::add(taken, thaw.amount);
        thaw.amount = {};
    }
    return taken;
}

Status Table::reclaim(const Tx& tx, const Digest& unit, const Digest& salt) {
    const auto found = announced_.find(announcement_of(tx.sender, unit, salt));
    if (found == announced_.end())
        return fail(ErrorCode::kNotFound, "the sender has announced nothing of this kind");
    if (value_or_default(units_, unit).proven_at == 0)
        return fail(ErrorCode::kConflict, "the unit is not known to be faulty");
    announced_.erase(found);
    money::add(tokens_[tx.sender], terms_.bond);
    return {};
}

Status Table::forfeit(const Tx& tx, const Digest& announcement) {
    const auto found = announced_.find(announcement);
    if (found == announced_.end())
        return fail(ErrorCode::kNotFound, "there is no such announcement");
    if (tx.block <= found->second.block + terms_.announce_blocks + terms_.open_blocks)
        return fail(ErrorCode::kOutOfRange, "it can still be opened");
    announced_.erase(found);
    money::add(burned_, terms_.bond);
    return {};
}

Status Table::withdraw_ether(const Tx& tx) {
    Amount& owed = ether_[tx.sender];
    if (owed.is_zero()) return fail(ErrorCode::kNotFound, "nothing is owed to the sender");
    money::add(ether_out_, owed);
    owed = {};
    return {};
}

Digest Table::announcement_of(const Address& sender, const Digest& unit, const Digest& salt) const {
    return game::announcement_of(chain_id_, contract_, sender, unit, salt);
}

const GameState* Table::game(const Digest& game) const {
    const auto found = games_.find(game);
    return found == games_.end() ? nullptr : &found->second;
}

const UnitState* Table::unit(const Digest& unit) const {
    const auto found = units_.find(unit);
    return found == units_.end() ? nullptr : &found->second;
}

Digest Table::answer_to(const Digest& unit, const Digest& cursor) const {
    return value_or_default(answers_, std::pair{unit, cursor});
}

Amount Table::tokens_of(const Address& owner) const {
    return value_or_default(tokens_, owner);
}

Amount Table::Account::staked() const {
    Amount sum = active;
    for (const Thaw& thaw : thaws)
        money::add(sum, thaw.amount);
    return sum;
}

Amount Table::staked_by(const Address& owner) const {
    const auto found = accounts_.find(owner);
    return found == accounts_.end() ? Amount() : found->second.staked();
}

std::uint64_t Table::locks_of(const Address& owner) const {
    const auto found = accounts_.find(owner);
    return found == accounts_.end() ? 0 : found->second.locks;
}

Amount Table::ether_of(const Address& owner) const {
    return value_or_default(ether_, owner);
}

Amount Table::tokens_held() const {
    Amount sum;
    for (const auto& [owner, tokens] : tokens_)
        money::add(sum, tokens);
    for (const auto& [owner, account] : accounts_)
        money::add(sum, account.staked());
    const auto open = std::ranges::count_if(
        games_, [](const auto& entry) { return is_open(entry.second.status); });
    const auto bonds = static_cast<std::uint64_t>(open) + announced_.size();
    money::add(sum, money::share(terms_.bond, bonds, 1));
    return sum;
}

Amount Table::ether_held() const {
    Amount sum;
    for (const auto& [owner, owed] : ether_)
        money::add(sum, owed);
    for (const auto& [id, game] : games_)
        money::add(sum, game.escrow);
    return sum;
}

}  // namespace gym::game
