#include "sealed_rows.hpp"

#include <set>

namespace gym::ledger {
namespace {

using db::Row;
using db::Rows;

/// Accounts that a sealer keeps in memory: some 100 MB.
constexpr std::size_t kDigestsMax = 1'000'000;

// The binary forms of uuid and timestamptz as bytea: exact, and shorter than their texts.
constexpr std::string_view kSelectTransfers =
    "SELECT seq, uuid_send(id), kind, debit_account, credit_account, amount, "
    "uuid_send(pending_id), expires_at, uuid_send(group_id), reason, timestamptz_send(created_at), "
    "fingerprint, debit_version, debit_after, credit_version, credit_after "
    "FROM ledger.transfer WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3";

using EightBytes = FixedBytes<8, struct EightBytesTag>;

std::int64_t big_endian(const EightBytes& bytes) {
    std::uint64_t value = 0;
    for (const std::uint8_t byte : bytes.data)
        value = value << 8 | byte;
    return static_cast<std::int64_t>(value);
}

std::optional<SealedEntry> entry_of(const Row& row, std::size_t column) {
    const auto version = row.get<std::optional<std::int64_t>>(column);
    const auto after = row.get<std::optional<std::string>>(column + 1);
    if (!version && !after) return std::nullopt;
    return SealedEntry{version.value_or(0), after.value_or("none")};
}

Result<TransferRow> to_transfer(const Row& row) {
    TransferRow out;
    SealedTransfer& transfer = out.transfer;
    transfer.seq = row.get<std::uint64_t>(0);
    transfer.id = row.get<TransferId>(1);
    GYM_TRY(transfer.kind, parse_transfer_kind(row.get<std::string>(2)));
    transfer.debit = AccountId{row.get<std::int64_t>(3)};
    transfer.credit = AccountId{row.get<std::int64_t>(4)};
    const auto amount =
        Amount::parse(row.get<std::string>(5));  // of rows that may be tampered with
    if (!amount.ok()) return amount.error().in("transfer " + to_uuid(transfer.id) + ": amount");
    transfer.amount = *amount;
    transfer.pending = row.get<std::optional<TransferId>>(6);
    transfer.expires_at = row.get<std::optional<UnixMs>>(7);
    transfer.group = row.get<std::optional<TransferId>>(8);
    transfer.reason = row.get<std::string>(9);
    transfer.created_at_us = big_endian(row.get<EightBytes>(10));
    out.fingerprint = row.get<Digest>(11);
    transfer.debit_entry = entry_of(row, 12);
    transfer.credit_entry = entry_of(row, 14);
    return out;
}

Seal to_seal(const Row& row) {
    Seal seal;
    seal.record.number = row.get<std::uint64_t>("number");
    seal.record.first_seq = row.get<std::uint64_t>("first_seq");
    seal.record.last_seq = row.get<std::uint64_t>("last_seq");
    seal.record.transfers = row.get<std::uint64_t>("transfers");
    seal.record.root = row.get<Digest>("root");
    seal.record.previous = row.get<Digest>("previous");
    seal.record.sealed_at = row.get<UnixMs>("sealed_at_ms");
    seal.record.signer = row.get<Address>("signer");
    seal.hash = row.get<Digest>("hash");
    seal.signature = row.get<crypto::Signature>("signature");
    return seal;
}

}  // namespace

Status read_in_order(db::Transaction& transaction) {
    return transaction.exec_script(
        "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off");
}

Result<std::vector<TransferRow>> read_transfers(db::Transaction& transaction, SeqRange range,
                                                std::size_t count_max) {
    GYM_TRY(const Rows rows,
            transaction.exec(kSelectTransfers, {range.after, range.up_to, count_max}));
    std::vector<TransferRow> out;
    out.reserve(rows.size());
    for (const Row row : rows) {
        GYM_TRY(TransferRow transfer, to_transfer(row));
        out.push_back(std::move(transfer));
    }
    return out;
}

Result<std::vector<Seal>> read_seals(db::Transaction& transaction, std::uint64_t number,
                                     std::size_t count_max) {
    GYM_TRY(const Rows rows,
            transaction.exec("SELECT * FROM ledger.seal WHERE number > $1 ORDER BY number LIMIT $2",
                             {number, count_max}));
    std::vector<Seal> out;
    out.reserve(rows.size());
    for (const Row row : rows)
        out.push_back(to_seal(row));
    return out;
}

Status AccountDigests::load(db::Transaction& transaction, const std::vector<TransferRow>& rows) {
    if (digests_.size() > kDigestsMax) digests_.clear();
    std::set<std::int64_t> missing;
    for (const TransferRow& row : rows)
        for (const AccountId id : {row.transfer.debit, row.transfer.credit})
            if (!digests_.contains(number(id))) missing.insert(number(id));
    if (missing.empty()) return {};
    GYM_TRY(const Rows found,
            transaction.exec(
                "SELECT id, owner, asset, kind FROM ledger.account WHERE id = ANY($1::bigint[])",
                {db::Param::array(missing)}));
    for (const Row row : found) {
        GYM_TRY(const AccountKind kind, parse_account_kind(row.get<std::string>(3)));
        const AccountKey key{row.get<std::string>(1), row.get<std::string>(2), kind};
        const auto id = row.get<std::int64_t>(0);
        digests_[id] = account_digest(AccountId{id}, key);
        missing.erase(id);
    }
    if (!missing.empty())
        return fail(ErrorCode::kMismatch, "account " + std::to_string(*missing.begin()) +
                                              " has transfers and does not exist");
    return {};
}

void append_leaves(std::vector<Digest>& leaves, const std::vector<TransferRow>& rows,
                   const AccountDigests& accounts) {
    for (const TransferRow& row : rows)
        leaves.push_back(transfer_leaf(row.transfer, accounts.of(row.transfer.debit),
                                       accounts.of(row.transfer.credit)));
}

}  // namespace gym::ledger
