#include "ledger_client.hpp"

#include <algorithm>

namespace gym::ledger {
namespace {

using db::Row;
using db::Rows;
using db::Transaction;

std::int64_t number(AccountId id) {
    return static_cast<std::int64_t>(id);
}

db::TransactOptions idempotent() {
    db::TransactOptions options;
    options.idempotent = true;
    return options;
}

db::TransactOptions reading() {
    db::TransactOptions options = idempotent();
    options.read_only = true;
    return options;
}

}  // namespace

Result<AccountId> find_account(Transaction& transaction, const AccountKey& key) {
    GYM_TRY(const auto row,
            transaction.exec_optional(
                "SELECT id FROM ledger.account WHERE owner = $1 AND asset = $2 AND kind = $3",
                {key.owner, key.asset, std::string(to_string(key.kind))}));
    if (!row)
        return fail(ErrorCode::kNotFound,
                    "no account '" + std::string(to_string(key.kind)) + "' of " + key.owner);
    return AccountId{row->get<std::int64_t>(0)};
}

Status close_account(Transaction& transaction, AccountId account) {
    GYM_CHECK(transaction.exec("SELECT ledger.close_account($1)", {number(account)}));
    return {};
}

Result<std::size_t> expire(Transaction& transaction, UnixMs now, std::size_t count_max) {
    GYM_TRY(const Row row, transaction.exec_one("SELECT ledger.expire($1, $2)",
                                                {now, std::min(count_max, kBatchMax)}));
    return row.get<std::size_t>(0);
}

Result<std::optional<Transfer>> find_transfer(Transaction& transaction, const TransferId& id) {
    GYM_TRY(const auto row,
            transaction.exec_optional(
                "SELECT t.kind, t.debit_account, t.credit_account, t.amount, t.pending_id, "
                "t.expires_at, "
                "t.reason, (extract(epoch FROM t.created_at) * 1000)::bigint AS created_ms, "
                "r.id AS resolved_by, r.kind AS resolution "
                "FROM ledger.transfer t LEFT JOIN ledger.transfer r ON r.pending_id = t.id "
                "WHERE t.id = $1",
                {to_uuid(id)}));
    if (!row) return std::optional<Transfer>();
    Transfer transfer;
    transfer.id = id;
    GYM_TRY(transfer.kind, parse_transfer_kind(row->get<std::string>("kind")));
    transfer.debit = AccountId{row->get<std::int64_t>("debit_account")};
    transfer.credit = AccountId{row->get<std::int64_t>("credit_account")};
    transfer.amount = row->get<Amount>("amount");
    transfer.expires_at = row->get<std::optional<UnixMs>>("expires_at");
    transfer.reason = row->get<std::string>("reason");
    transfer.created_at = row->get<UnixMs>("created_ms");
    if (const auto pending = row->get<std::optional<std::string>>("pending_id")) {
        GYM_TRY(transfer.pending, parse_uuid(*pending));
    }
    if (const auto resolved_by = row->get<std::optional<std::string>>("resolved_by")) {
        GYM_TRY(transfer.resolved_by, parse_uuid(*resolved_by));
        GYM_TRY(transfer.resolution, parse_transfer_kind(row->get<std::string>("resolution")));
    }
    return std::optional(std::move(transfer));
}

Result<std::vector<Entry>> history(Transaction& transaction, AccountId account,
                                   std::int64_t after_version, std::size_t count_max) {
    GYM_TRY(
        const Rows rows,
        transaction.exec("SELECT e.version, e.transfer_id, e.delta > 0 AS is_credit, "
                         "abs(e.delta) AS amount, e.balance_after, t.reason, "
                         "(extract(epoch FROM t.created_at) * 1000)::bigint AS created_ms "
                         "FROM ledger.entry e JOIN ledger.transfer t ON t.id = e.transfer_id "
                         // Versions have no gaps: a long history is not sorted for its beginning.
                         "WHERE e.account_id = $1 AND e.version > $2 AND e.version <= $2 + $3 "
                         "ORDER BY e.version",
                         {number(account), after_version, count_max}));
    std::vector<Entry> entries;
    entries.reserve(rows.size());
    for (const Row row : rows) {
        Entry entry;
        entry.version = row.get<std::int64_t>("version");
        GYM_TRY(entry.transfer, parse_uuid(row.get<std::string>("transfer_id")));
        entry.is_credit = row.get<bool>("is_credit");
        entry.amount = row.get<Amount>("amount");
        entry.balance_after = row.get<std::string>("balance_after");
        entry.reason = row.get<std::string>("reason");
        entry.created_at = row.get<UnixMs>("created_ms");
        entries.push_back(std::move(entry));
    }
    return entries;
}

Result<AccountId> Ledger::open_account(const AccountKey& key) {
    return database_.transact([&](Transaction& t) { return ledger::open_account(t, key); },
                              idempotent());
}

Result<std::vector<TransferStatus>> Ledger::submit(std::span<const TransferRequest> requests) {
    db::TransactOptions options = idempotent();
    options.single_statement = true;
    return database_.transact(
        [&](Transaction& t) { return ledger::submit(t, requests, clock_.now_ms()); }, options);
}

Result<std::size_t> Ledger::expire(std::size_t count_max) {
    return database_.transact(
        [&](Transaction& t) { return ledger::expire(t, clock_.now_ms(), count_max); },
        idempotent());
}

Result<Balance> Ledger::balance(const AccountKey& key) {
    return database_.transact([&](Transaction& t) { return ledger::balance(t, key); }, reading());
}

Result<Balance> Ledger::balance(AccountId account) {
    return database_.transact([&](Transaction& t) { return ledger::balance(t, account); },
                              reading());
}

Result<std::vector<Entry>> Ledger::history(AccountId account, std::int64_t after_version,
                                           std::size_t count_max) {
    return database_.transact(
        [&](Transaction& t) { return ledger::history(t, account, after_version, count_max); },
        reading());
}

Result<std::vector<std::string>> Ledger::audit() {
    db::TransactOptions options = reading();
    options.isolation = db::Isolation::kRepeatableRead;
    return database_.transact([](Transaction& transaction) { return ledger::audit(transaction); },
                              options);
}

}  // namespace gym::ledger
