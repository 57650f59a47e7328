#include "gym/ledger/ledger.hpp"

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

}  // namespace

Result<AccountId> open_account(Transaction& transaction, const AccountKey& key) {
    GYM_TRY(const Row row,
            transaction.exec_one("SELECT ledger.open_account($1, $2, $3)",
                                 {key.owner, key.asset, std::string(to_string(key.kind))}));
    return AccountId{row.get<std::int64_t>(0)};
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

}  // namespace gym::ledger
