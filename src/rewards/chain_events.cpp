#include <algorithm>

#include "locks.hpp"

// Events of the contracts, each booked once. The two chain accounts mirror the contracts'
// holdings.
namespace gym::rewards {
namespace {

using ledger::transfer_id;
using ledger::TransferId;

TransferId id_of(const ChainEvent& event, std::string_view part) {
    return transfer_id("chain:" + std::string(part) + ":" + event.key.hex());
}

Result<Amount> spendable(Books& books, const ledger::AccountKey& key) {
    GYM_TRY(const ledger::Balance balance, ledger::balance(books.transaction, key));
    return balance.spendable();
}

Status book(Books& books, const ChainEvent& event, const Deposited& deposit) {
    if (deposit.amount.is_zero()) return {};
    const std::string asset = books.config.asset();
    return books.must_move(id_of(event, "deposited"), chain_escrow_account(asset),
                           available_account(asset, deposit.owner), deposit.amount, "deposit");
}

Status book(Books& books, const ChainEvent& event, const Released& release) {
    const std::string asset = books.config.asset();
    GYM_CHECK(books.must_move(id_of(event, "released"), chain_distributor_account(asset),
                              chain_escrow_account(asset), release.amount,
                              "release of epoch " + std::to_string(release.epoch)));
    GYM_TRY(const db::Rows rows,
            books.transaction.exec("UPDATE rewards.owner_lock SET locked = locked - $2, needed = "
                                   "needed - $2, released = released + $2 WHERE owner = $1 AND "
                                   "least(locked, needed) >= $2",
                                   {release.owner, release.amount}));
    if (rows.affected() == 1) return {};
    return fail(ErrorCode::kConflict, "the chain released " + release.amount.to_string() +
                                          " wei of " + release.owner.hex() + " in epoch " +
                                          std::to_string(release.epoch) +
                                          ", more than its jobs have spent");
}

Status add_locked(Books& books, const Address& owner, const Amount& amount) {
    GYM_CHECK(books.transaction.exec(
        "INSERT INTO rewards.owner_lock AS l (owner, locked) VALUES ($1, $2) "
        "ON CONFLICT (owner) DO UPDATE SET locked = l.locked + excluded.locked",
        {owner, amount}));
    return {};
}

/// Brings the withdrawing account to `target`, as far as the available balance goes.
Status set_withdrawing(Books& books, const ChainEvent& event, const Address& owner,
                       const Amount& target) {
    const auto available = available_account(books.config.asset(), owner);
    const auto withdrawing = withdrawing_account(books.config.asset(), owner);
    GYM_TRY(const Amount held, spendable(books, withdrawing));
    if (target == held) return {};
    if (target < held) {
        GYM_TRY(const Amount back, held.minus(target));
        return books.must_move(id_of(event, "unhold"), withdrawing, available, back,
                               "withdrawal reduced");
    }
    GYM_TRY(const Amount free, spendable(books, available));
    GYM_TRY(const Amount wanted, target.minus(held));
    const Amount more = std::min(free, wanted);
    if (more.is_zero()) return {};
    return books.must_move(id_of(event, "hold"), available, withdrawing, more,
                           "withdrawal requested");
}

/// As far as the money is not ordered for jobs: the contract pays nothing of what is locked.
Status book(Books& books, const ChainEvent& event, const WithdrawalRequested& request) {
    return set_withdrawing(books, event, request.owner, request.amount);
}

Status book(Books& books, const ChainEvent&, const Locked& lock) {
    return add_locked(books, lock.owner, lock.amount);
}

/// What an account has locked pays without orders. If not all of it is available, because orders
/// were faster, the rest is unlocked.
Status book(Books& books, const ChainEvent& event, const LockedOwn& lock) {
    GYM_CHECK(add_locked(books, lock.owner, lock.amount));
    const std::string asset = books.config.asset();
    GYM_TRY(const Amount free, spendable(books, available_account(asset, lock.owner)));
    const Amount part = std::min(free, lock.amount);
    if (part.is_zero()) return {};
    GYM_CHECK(books.must_move(id_of(event, "locked own"), available_account(asset, lock.owner),
                              own_escrow_account(asset, lock.owner), part, "locked by its owner"));
    return need_lock(books, lock.owner, part);
}

Status book(Books& books, const ChainEvent&, const Unlocked& unlock) {
    GYM_CHECK(books.transaction.exec(
        "UPDATE rewards.owner_lock SET locked = locked - $2, unlocked = $3 WHERE owner = $1",
        {unlock.owner, unlock.amount, unlock.total}));
    return {};
}

/// Gives orders up that the chain has not locked, the newest first, until the owner has `amount`
/// without its jobs' budgets. They cannot be locked any more: it has withdrawn their money.
Status give_up_orders(Books& books, const Address& owner, const Amount& amount) {
    const std::string asset = books.config.asset();
    GYM_TRY(const auto orders, registry::locking_orders_of(books.transaction, owner));
    for (const registry::StoredOrder& order : orders) {
        GYM_TRY(Amount held, spendable(books, withdrawing_account(asset, owner)));
        GYM_TRY(const Amount free, spendable(books, available_account(asset, owner)));
        GYM_TRY(held, held.plus(free));
        if (held >= amount) return {};
        GYM_CHECK(give_up_order(books, order, "its owner withdrew the money before it was locked"));
    }
    return {};
}

/// A withdrawal is taken from the amount that was held for it, then from what the owner has
/// elsewhere: an owner that leaves takes its jobs' budgets, too.
Status book(Books& books, const ChainEvent& event, const Withdrawn& withdrawn) {
    const std::string asset = books.config.asset();
    GYM_CHECK(give_up_orders(books, withdrawn.owner, withdrawn.amount));
    std::vector<ledger::AccountKey> sources = {withdrawing_account(asset, withdrawn.owner),
                                               available_account(asset, withdrawn.owner),
                                               own_escrow_account(asset, withdrawn.owner)};
    GYM_TRY(const db::Rows jobs,
            books.transaction.exec(
                "SELECT id FROM registry.job WHERE owner = $1 ORDER BY submitted_at_ms DESC",
                {withdrawn.owner}));
    for (const db::Row row : jobs)
        sources.push_back(escrow_account(asset, row.get<Digest>(0)));
    Amount left = withdrawn.amount;
    for (std::size_t i = 0; i < sources.size() && !left.is_zero(); ++i) {
        GYM_TRY(const Amount free, spendable(books, sources[i]));
        const Amount part = std::min(free, left);
        if (part.is_zero()) continue;
        GYM_CHECK(books.must_move(id_of(event, "withdrawn " + std::to_string(i)), sources[i],
                                  chain_escrow_account(asset), part, "withdrawal"));
        if (sources[i].kind == ledger::AccountKind::kEscrow)
            GYM_CHECK(need_less(books, withdrawn.owner, part));
        GYM_TRY(left, left.minus(part));
    }
    if (!left.is_zero())
        return fail(ErrorCode::kConflict, withdrawn.owner.hex() + " withdrew " + left.to_string() +
                                              " wei more than the ledger has for it");
    // The request is closed; what it still held is free again.
    return set_withdrawing(books, event, withdrawn.owner, Amount());
}

Status book(Books& books, const ChainEvent&, const ExitRequested& exit) {
    GYM_CHECK(books.transaction.exec("DELETE FROM rewards.leaving WHERE owner = $1", {exit.owner}));
    if (exit.available_at_s == 0) return {};
    GYM_CHECK(books.transaction.exec("INSERT INTO rewards.leaving VALUES ($1, $2)",
                                     {exit.owner, exit.available_at_s}));
    return {};
}

Status book(Books& books, const ChainEvent&, const RootSubmitted& root) {
    GYM_TRY(const db::Rows rows,
            books.transaction.exec(
                "UPDATE rewards.settlement SET active_at_ms = $3, changed_at_ms = $4 "
                "WHERE epoch = $1 AND payout_root = $2",
                {root.epoch, root.root, root.active_at_s * 1000, books.now}));
    if (rows.affected() == 1) return {};
    return fail(ErrorCode::kMismatch, "the payout root of epoch " + std::to_string(root.epoch) +
                                          " on chain was not made by this ledger");
}

Status book(Books& books, const ChainEvent&, const RootDisabled& root) {
    GYM_CHECK(books.transaction.exec(
        "UPDATE rewards.settlement SET state = 'disabled', changed_at_ms = $2, "
        "problem = 'disabled on chain before it was active' WHERE epoch = $1",
        {root.epoch, books.now}));
    return {};
}

Status book(Books& books, const ChainEvent&, const LeafDemanded& demand) {
    GYM_CHECK(books.transaction.exec("INSERT INTO rewards.demand (epoch, earner) VALUES ($1, $2)",
                                     {demand.epoch, demand.earner}));
    return {};
}

Status book(Books& books, const ChainEvent&, const LeafShown& shown) {
    GYM_CHECK(books.transaction.exec(
        "UPDATE rewards.demand SET done = true WHERE epoch = $1 AND earner = $2",
        {shown.epoch, shown.earner}));
    return {};
}

Status book(Books& books, const ChainEvent& event, const Claimed& claim) {
    const std::string asset = books.config.asset();
    return books.must_move(id_of(event, "claimed"), payable_account(asset, claim.earner),
                           chain_distributor_account(asset), claim.amount, "claim");
}

constexpr std::string_view kKindNames[] = {
    "deposited",     "released",       "withdrawal_requested",
    "locked",        "locked_own",     "unlocked",
    "withdrawn",     "exit_requested", "root_submitted",
    "root_disabled", "leaf_demanded",  "leaf_shown",
    "claimed"};

}  // namespace

Status Accounting::on_chain_event(const ChainEvent& event) {
    return database_.transact(
        [&](db::Transaction& transaction) -> Status {
            GYM_TRY(const db::Rows rows,
                    transaction.exec(
                        "INSERT INTO rewards.chain_event (key, kind, block, handled_at_ms) "
                        "VALUES ($1, $2, $3, $4) ON CONFLICT (key) DO NOTHING",
                        {event.key, kKindNames[event.what.index()], event.block, clock_.now_ms()}));
            if (rows.affected() == 0) return {};  // booked before
            Books books{transaction, config_, clock_.now_ms()};
            return std::visit([&](const auto& what) { return book(books, event, what); },
                              event.what);
        },
        idempotent());
}

}  // namespace gym::rewards
