#include "gym/ledger/ledger.hpp"

#include <algorithm>
#include <set>

namespace gym::ledger {
namespace {

using db::Param;
using db::Row;
using db::Rows;
using db::Transaction;

constexpr std::size_t kReasonBytesMax = 256;

std::optional<std::string> uuid_or_null(const std::optional<TransferId>& id) {
    return id ? std::optional(to_uuid(*id)) : std::nullopt;
}

std::int64_t number(AccountId id) {
    return static_cast<std::int64_t>(id);
}

bool is_resolution(TransferKind kind) {
    return kind == TransferKind::kPost || kind == TransferKind::kVoid;
}

Status check_batch(std::span<const TransferRequest> requests) {
    if (requests.size() > kBatchMax)
        return fail(ErrorCode::kInvalidArgument,
                    "a batch has at most " + std::to_string(kBatchMax) + " transfers, got " +
                        std::to_string(requests.size()));
    std::set<TransferId> ended;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (requests[i].reason.size() > kReasonBytesMax)
            return fail(ErrorCode::kInvalidArgument, "a transfer's reason has at most 256 bytes");
        const auto& group = requests[i].group;
        if (i > 0 && requests[i - 1].group && requests[i - 1].group != group)
            ended.insert(*requests[i - 1].group);
        if (group && ended.contains(*group))
            return fail(ErrorCode::kInvalidArgument,
                        "the transfers of group " + to_uuid(*group) + " are not neighbours");
    }
    return {};
}

/// One SQL array of what `column` makes of each request.
template <class F>
Param column(std::span<const TransferRequest> requests, F&& value) {
    std::vector<Param> values;
    values.reserve(requests.size());
    for (const TransferRequest& request : requests)
        values.push_back(value(request));
    return Param::array(values);
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

UnixMs to_ms(const Row& row, std::string_view column_name) {
    return row.get<UnixMs>(column_name);
}

}  // namespace

Result<AccountId> open_account(Transaction& transaction, const AccountKey& key) {
    GYM_TRY(const Row row,
            transaction.exec_one("SELECT ledger.open_account($1, $2, $3)",
                                 {key.owner, key.asset, std::string(to_string(key.kind))}));
    return AccountId{row.get<std::int64_t>(0)};
}

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

Result<std::vector<TransferStatus>> submit(Transaction& transaction,
                                           std::span<const TransferRequest> requests, UnixMs now) {
    GYM_CHECK(check_batch(requests));
    const auto account = [](TransferKind kind, AccountId id) -> Param {
        return is_resolution(kind) && number(id) == 0 ? Param(std::nullopt) : Param(number(id));
    };
    GYM_TRY(const Row row,
            transaction.exec_one(
                "SELECT ledger.submit($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], "
                "$5::numeric[], "
                "$6::uuid[], $7::bigint[], $8::uuid[], $9::text[], $10)",
                {column(requests, [](const auto& r) { return Param(to_uuid(r.id)); }),
                 column(requests, [](const auto& r) { return Param(to_string(r.kind)); }),
                 column(requests, [&](const auto& r) { return account(r.kind, r.debit); }),
                 column(requests, [&](const auto& r) { return account(r.kind, r.credit); }),
                 column(requests,
                        [](const auto& r) {
                            return is_resolution(r.kind) && r.amount.is_zero() ? Param(std::nullopt)
                                                                               : Param(r.amount);
                        }),
                 column(requests, [](const auto& r) { return Param(uuid_or_null(r.pending)); }),
                 column(requests, [](const auto& r) { return Param(r.expires_at); }),
                 column(requests, [](const auto& r) { return Param(uuid_or_null(r.group)); }),
                 column(requests, [](const auto& r) { return Param(r.reason); }), now}));
    GYM_TRY(const auto texts, db::parse_array(row.get<std::string>(0)));
    GYM_ASSERT(texts.size() == requests.size(), "one status per transfer");
    std::vector<TransferStatus> statuses;
    statuses.reserve(texts.size());
    for (const auto& text : texts) {
        GYM_TRY(const TransferStatus status, parse_transfer_status(text.value_or("NULL")));
        statuses.push_back(status);
    }
    return statuses;
}

Result<std::size_t> expire(Transaction& transaction, UnixMs now, std::size_t count_max) {
    GYM_TRY(const Row row, transaction.exec_one("SELECT ledger.expire($1, $2)",
                                                {now, std::min(count_max, kBatchMax)}));
    return row.get<std::size_t>(0);
}

namespace {

constexpr std::string_view kBalanceColumns =
    "SELECT debits, credits, debits_pending, credits_pending, version, closed FROM ledger.account ";

Balance balance_of(const Row& row) {
    Balance balance;
    balance.debits = row.get<Amount>("debits");
    balance.credits = row.get<Amount>("credits");
    balance.debits_pending = row.get<Amount>("debits_pending");
    balance.credits_pending = row.get<Amount>("credits_pending");
    balance.version = row.get<std::int64_t>("version");
    balance.closed = row.get<bool>("closed");
    return balance;
}

}  // namespace

Result<Balance> balance(Transaction& transaction, AccountId account) {
    GYM_TRY(const auto row, transaction.exec_optional(
                                std::string(kBalanceColumns) + "WHERE id = $1", {number(account)}));
    if (!row) return fail(ErrorCode::kNotFound, "no account " + std::to_string(number(account)));
    return balance_of(*row);
}

Result<Balance> balance(Transaction& transaction, const AccountKey& key) {
    GYM_TRY(const auto row,
            transaction.exec_optional(
                std::string(kBalanceColumns) + "WHERE owner = $1 AND asset = $2 AND kind = $3",
                {key.owner, key.asset, to_string(key.kind)}));
    return row ? balance_of(*row) : Balance{};
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
    transfer.created_at = to_ms(*row, "created_ms");
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
        entry.created_at = to_ms(row, "created_ms");
        entries.push_back(std::move(entry));
    }
    return entries;
}

Result<std::vector<std::string>> audit(Transaction& transaction) {
    GYM_TRY(const Rows views, transaction.exec("SELECT quote_ident(viewname) FROM pg_views "
                                               "WHERE schemaname = 'audit' ORDER BY viewname"));
    std::vector<std::string> problems;
    for (const Row view : views) {
        const auto name = view.get<std::string>(0);
        GYM_TRY(const Rows rows,
                transaction.exec("SELECT coalesce(to_jsonb(v) ->> 'problem', to_jsonb(v)::text) "
                                 "FROM audit." +
                                 name + " v LIMIT 100"));
        for (const Row row : rows)
            problems.push_back(name + ": " + row.get<std::string>(0));
    }
    return problems;
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
