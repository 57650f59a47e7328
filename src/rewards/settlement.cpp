#include "gym/rewards/settlement.hpp"

#include "gym/rewards/claim_proof.hpp"
#include "gym/rewards/epoch_file.hpp"
#include "locks.hpp"

// Bringing a closed epoch on chain. Every order has a name; its attempt number makes the id that
// the chain knows it by, so a crash between sending and noting finds the same order again.
namespace gym::rewards {
namespace {

constexpr int kLocksOfATickMax = 500;
constexpr int kLeavesOfATickMax = 100;

struct UnderWay {
    std::uint64_t epoch = 0;
    EpochState state = EpochState::kClosed;
    RootOrder root;
    std::string file;
    bool has_active_time = false;
};

Result<std::optional<UnderWay>> read_under_way(db::Database& database) {
    return database.transact(
        [](db::Transaction& transaction) -> Result<std::optional<UnderWay>> {
            GYM_TRY(const auto row,
                    transaction.exec_optional(
                        "SELECT epoch, state, payout_root, total_cumulative, file, file_root, "
                        "active_at_ms IS NOT NULL AS has_active_time FROM rewards.settlement "
                        "WHERE state IN ('closed', 'released')"));
            if (!row) return std::optional<UnderWay>();
            UnderWay out;
            out.epoch = row->get<std::uint64_t>("epoch");
            GYM_TRY(out.state, parse_epoch_state(row->get<std::string>("state")));
            out.root = {out.epoch, row->get<Digest>("payout_root"),
                        row->get<Amount>("total_cumulative"), row->get<Digest>("file_root")};
            out.file = row->get<std::string>("file");
            out.has_active_time = row->get<bool>("has_active_time");
            return std::optional(std::move(out));
        },
        idempotent());
}

Result<std::vector<ReleaseOrder>> read_releases(db::Database& database, std::uint64_t epoch) {
    return database.transact(
        [&](db::Transaction& transaction) -> Result<std::vector<ReleaseOrder>> {
            GYM_TRY(const db::Rows rows,
                    transaction.exec(
                        "SELECT owner, amount FROM rewards.release WHERE epoch = $1 ORDER BY owner",
                        {epoch}));
            std::vector<ReleaseOrder> orders;
            for (const db::Row row : rows) {
                if (orders.empty() || orders.back().spent.size() == kReleaseOwnersMax)
                    orders.push_back({epoch, {}});
                orders.back().spent.emplace_back(row.get<Address>("owner"),
                                                 row.get<Amount>("amount"));
            }
            return orders;
        },
        idempotent());
}

/// The attempt to ask the chain about; nullopt if the order is done.
Result<std::optional<int>> open_attempt(db::Database& database, const std::string& name) {
    return database.transact(
        [&](db::Transaction& transaction) -> Result<std::optional<int>> {
            GYM_CHECK(transaction.exec(
                "INSERT INTO rewards.chain_order (name) VALUES ($1) ON CONFLICT (name) DO NOTHING",
                {name}));
            GYM_TRY(const db::Row row,
                    transaction.exec_one(
                        "SELECT attempt, done FROM rewards.chain_order WHERE name = $1", {name}));
            if (row.get<bool>("done")) return std::optional<int>();
            return std::optional(row.get<int>("attempt"));
        },
        idempotent());
}

Status note(db::Database& database, const std::string& name, int attempt,
            const OrderStatus& status) {
    if (status.state == OrderState::kWaiting || status.state == OrderState::kRefused) return {};
    const char* sql =
        status.state == OrderState::kDone
            ? "UPDATE rewards.chain_order SET done = true WHERE name = $1 AND attempt = $2"
            : "UPDATE rewards.chain_order SET attempt = attempt + 1 "
              "WHERE name = $1 AND attempt = $2 AND NOT done";
    return database.transact(
        [&](db::Transaction& transaction) -> Status {
            GYM_CHECK(transaction.exec(sql, {name, attempt}));
            return {};
        },
        idempotent());
}

/// Asks for one order under its current attempt.
template <class Send>
Result<OrderStatus> ask(db::Database& database, const std::string& name, Send&& send) {
    GYM_TRY(const auto attempt, open_attempt(database, name));
    if (!attempt) return OrderStatus{OrderState::kDone, ""};
    GYM_TRY(OrderStatus status, send(name + ":" + std::to_string(*attempt)));
    GYM_CHECK(note(database, name, *attempt, status));
    return status;
}

/// The same. @return whether it is done; a reason in `problem` if not.
template <class Send>
Result<bool> bring(db::Database& database, const std::string& name, std::string& problem,
                   Send&& send) {
    GYM_TRY(const OrderStatus status, ask(database, name, std::forward<Send>(send)));
    if (status.state != OrderState::kDone && !status.reason.empty())
        problem = name + ": " + status.reason;
    return status.state == OrderState::kDone;
}

struct Demands {
    std::uint64_t epoch = 0;
    std::string file;  ///< the epoch's
    std::vector<Address> earners;
};

/// Those that are open, of the root that is not active yet.
Result<Demands> read_demands(db::Database& database, UnixMs now) {
    return database.transact(
        [&](db::Transaction& transaction) -> Result<Demands> {
            GYM_TRY(const db::Rows rows,
                    transaction.exec(
                        "SELECT d.epoch, s.file, d.earner FROM rewards.demand d "
                        "JOIN rewards.settlement s ON s.epoch = d.epoch "
                        "WHERE NOT d.done AND s.state <> 'disabled' AND s.active_at_ms > $1 "
                        "ORDER BY d.seq LIMIT $2",
                        {now, kLeavesOfATickMax}));
            Demands out;
            for (const db::Row row : rows) {
                // At most one root is pending.
                out.epoch = row.get<std::uint64_t>("epoch");
                out.file = row.get<std::string>("file");
                out.earners.push_back(row.get<Address>("earner"));
            }
            return out;
        },
        idempotent());
}

Status set_state(db::Database& database, std::uint64_t epoch, EpochState from, EpochState to,
                 const std::string& problem, UnixMs now) {
    return database.transact(
        [&](db::Transaction& transaction) -> Status {
            // Left alone if the root was disabled meanwhile.
            GYM_CHECK(transaction.exec(
                "UPDATE rewards.settlement SET state = $3, problem = $4, changed_at_ms = $5 "
                "WHERE epoch = $1 AND state = $2",
                {epoch, to_string(from), to_string(to), problem, now}));
            return {};
        },
        idempotent());
}

std::string name_of_batch(std::uint64_t number) {
    return "unlock:" + std::to_string(number);
}

struct UnlockBatch {
    std::uint64_t number = 0;
    UnlockOrder order;
};

Result<UnlockBatch> read_batch(db::Transaction& transaction, std::uint64_t number) {
    GYM_TRY(const db::Rows rows,
            transaction.exec("SELECT owner, total FROM rewards.unlock WHERE batch = $1 "
                             "ORDER BY owner",
                             {number}));
    UnlockBatch out{number, {}};
    for (const db::Row row : rows)
        out.order.totals.emplace_back(row.get<Address>("owner"), row.get<Amount>("total"));
    return out;
}

/// The batch under way. If there is none, the next one, of all owners with more locked than their
/// jobs need, each total once.
Result<std::optional<UnlockBatch>> open_batch(db::Transaction& transaction) {
    using Batch = std::optional<UnlockBatch>;
    GYM_TRY(const db::Row last,
            transaction.exec_one("SELECT coalesce(max(batch), 0) AS number FROM rewards.unlock"));
    const auto number = last.get<std::uint64_t>("number");
    GYM_TRY(const auto order,
            transaction.exec_optional("SELECT done FROM rewards.chain_order WHERE name = $1",
                                      {name_of_batch(number)}));
    const bool is_open = number != 0 && !(order && order->get<bool>("done"));
    if (!is_open) {
        GYM_TRY(const db::Rows due,
                transaction.exec(
                    "WITH due AS (SELECT owner, unlocked + (locked - needed) AS total FROM "
                    "rewards.owner_lock WHERE locked > needed AND unlocked + (locked - needed) > "
                    "asked ORDER BY owner LIMIT $2), "
                    "noted AS (UPDATE rewards.owner_lock l SET asked = d.total FROM due d "
                    "WHERE d.owner = l.owner) "
                    "INSERT INTO rewards.unlock SELECT $1, owner, total FROM due",
                    {number + 1, static_cast<std::int64_t>(kReleaseOwnersMax)}));
        if (due.affected() == 0) return Batch();
    }
    GYM_TRY(UnlockBatch batch, read_batch(transaction, is_open ? number : number + 1));
    return Batch(std::move(batch));
}

}  // namespace

Result<bool> Settlement::advance() {
    GYM_TRY(const auto under_way, read_under_way(database_));
    if (!under_way) return true;
    const std::string epoch = std::to_string(under_way->epoch);
    std::string problem;
    EpochState next = under_way->state;
    if (under_way->state == EpochState::kClosed) {
        GYM_CHECK(publish_(under_way->epoch, under_way->root.epoch_file_root, under_way->file));
        GYM_TRY(const auto orders, read_releases(database_, under_way->epoch));
        bool all_done = true;
        for (std::size_t i = 0; i < orders.size(); ++i) {
            GYM_TRY(const bool is_done,
                    bring(database_, "release:" + epoch + ":" + std::to_string(i), problem,
                          [&](const std::string& id) { return chain_.release(id, orders[i]); }));
            all_done = all_done && is_done;
        }
        if (all_done) next = EpochState::kReleased;
    } else {
        GYM_TRY(const bool is_done,
                bring(database_, "root:" + epoch, problem, [&](const std::string& id) {
                    return chain_.submit_root(id, under_way->root);
                }));
        // The contract's event says from when the root pays.
        if (is_done && under_way->has_active_time) next = EpochState::kSubmitted;
    }
    GYM_CHECK(
        set_state(database_, under_way->epoch, under_way->state, next, problem, clock_.now_ms()));
    return next == EpochState::kSubmitted;
}

Result<std::size_t> Settlement::lock_orders() {
    GYM_TRY(const auto orders, database_.transact(
                                   [](db::Transaction& transaction) {
                                       return registry::locking_orders(transaction,
                                                                       kLocksOfATickMax);
                                   },
                                   idempotent()));
    std::size_t decided = 0;
    for (const registry::StoredOrder& order : orders) {
        GYM_TRY(const OrderStatus status,
                ask(database_, "lock:" + to_uuid(transfer_of(order)),
                    [&](const std::string& id) { return chain_.lock(id, order); }));
        if (status.state != OrderState::kDone && status.state != OrderState::kRefused) continue;
        ++decided;
        GYM_CHECK(database_.transact(
            [&](db::Transaction& transaction) -> Status {
                Books books{transaction, config_, clock_.now_ms()};
                return status.state == OrderState::kDone
                           ? confirm_order(books, order)
                           : give_up_order(books, order, status.reason);
            },
            idempotent()));
    }
    return decided;
}

Status Settlement::unlock() {
    GYM_TRY(const auto batch, database_.transact(open_batch, idempotent()));
    if (!batch) return {};
    std::string problem;
    GYM_CHECK(bring(database_, name_of_batch(batch->number), problem,
                    [&](const std::string& id) { return chain_.unlock(id, batch->order); }));
    return {};
}

Status Settlement::show_leaves() {
    GYM_TRY(const auto demands, read_demands(database_, clock_.now_ms()));
    if (demands.earners.empty()) return {};
    GYM_TRY(const PayoutTree tree, tree_of_file(demands.file));
    for (const Address& earner : demands.earners) {
        LeafOrder order{demands.epoch, {earner, {}}, {}};
        GYM_TRY(order.payout.cumulative, tree.cumulative_of(earner));
        GYM_TRY(order.path, tree.prove(earner));
        std::string problem;
        // The contract's event ends the demand.
        GYM_CHECK(bring(database_, "leaf:" + std::to_string(demands.epoch) + ":" + earner.hex(),
                        problem,
                        [&](const std::string& id) { return chain_.show_leaf(id, order); }));
    }
    return {};
}

Result<Reconciliation> Settlement::reconcile(std::uint64_t block) {
    GYM_TRY(const Holdings holdings, chain_.holdings(block));
    return database_.transact(
        [&](db::Transaction& transaction) -> Result<Reconciliation> {
            Reconciliation out;
            out.block = block;
            out.escrow_chain = holdings.escrow;
            out.distributor_chain = holdings.distributor;
            out.claimed_chain = holdings.claimed;
            out.locked_chain = holdings.locked;
            GYM_TRY(const ledger::Balance escrow,
                    ledger::balance(transaction, chain_escrow_account(config_.asset())));
            GYM_TRY(const ledger::Balance distributor,
                    ledger::balance(transaction, chain_distributor_account(config_.asset())));
            GYM_TRY(out.escrow_ledger, escrow.held());
            GYM_TRY(out.distributor_ledger, distributor.held());
            out.claimed_ledger = distributor.credits;  // nothing else is booked to it
            GYM_TRY(const db::Row locks,
                    transaction.exec_one(
                        "SELECT coalesce(sum(locked), 0) AS locked FROM rewards.owner_lock"));
            out.locked_ledger = locks.get<Amount>("locked");
            GYM_CHECK(transaction.exec(
                "INSERT INTO rewards.reconciliation (block, escrow_ledger, escrow_chain, "
                "distributor_ledger, distributor_chain, at_ms, claimed_ledger, claimed_chain, "
                "locked_ledger, locked_chain) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) "
                "ON CONFLICT (block) DO UPDATE SET (escrow_ledger, escrow_chain, "
                "distributor_ledger, distributor_chain, at_ms, claimed_ledger, claimed_chain, "
                "locked_ledger, locked_chain) = (excluded.escrow_ledger, excluded.escrow_chain, "
                "excluded.distributor_ledger, excluded.distributor_chain, excluded.at_ms, "
                "excluded.claimed_ledger, excluded.claimed_chain, excluded.locked_ledger, "
                "excluded.locked_chain)",
                {block, out.escrow_ledger, out.escrow_chain, out.distributor_ledger,
                 out.distributor_chain, clock_.now_ms(), out.claimed_ledger, out.claimed_chain,
                 out.locked_ledger, out.locked_chain}));
            return out;
        },
        idempotent());
}

}  // namespace gym::rewards
