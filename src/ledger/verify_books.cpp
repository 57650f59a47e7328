#include "verify_books.hpp"

#include <array>
#include <cstring>

namespace gym::ledger {
namespace {

using db::Row;
using db::Rows;
using db::Transaction;

constexpr std::size_t kAccountPage = 20'000;

std::int64_t number(AccountId id) {
    return static_cast<std::int64_t>(id);
}

std::string account_name(std::int64_t id) {
    return "account " + std::to_string(id);
}

std::string entry_name(std::int64_t account, std::int64_t version) {
    return "entry " + std::to_string(version) + " of " + account_name(account);
}

/// credits - debits in decimal.
std::string signed_text(const Amount& credits, const Amount& debits) {
    return credits >= debits ? credits.minus(debits)->to_string()
                             : "-" + debits.minus(credits)->to_string();
}

/// Of numbers as text: every value that can be written into a row can be read.
std::string totals_text(const std::array<std::string, 5>& totals) {
    return "debits " + totals[0] + ", credits " + totals[1] + ", pending " + totals[2] + " and " +
           totals[3] + ", " + totals[4] + " entries";
}

}  // namespace

std::string name_of(const SealedTransfer& transfer) {
    return "transfer " + to_uuid(transfer.id) + " (seq " + std::to_string(transfer.seq) + ")";
}

std::size_t Books::IdHash::operator()(const TransferId& id) const noexcept {
    std::size_t value = 0;
    std::memcpy(&value, id.data.data(), sizeof value);  // ids are random or hashes
    return value;
}

Books::Account* Books::find(AccountId id) {
    const auto found = accounts_.find(number(id));
    return found == accounts_.end() ? nullptr : &found->second;
}

Digest Books::digest_of(AccountId id) const {
    const auto found = accounts_.find(number(id));
    return found == accounts_.end() ? Digest{} : found->second.digest;
}

Result<std::uint64_t> Books::open_accounts(Transaction& transaction) {
    for (std::int64_t after = 0;;) {
        GYM_TRY(const Rows rows,
                transaction.exec("SELECT id, owner, asset, kind FROM ledger.account WHERE id > $1 "
                                 "ORDER BY id LIMIT $2",
                                 {after, kAccountPage}));
        for (const Row row : rows) {
            after = row.get<std::int64_t>(0);
            AccountKey key{row.get<std::string>(1), row.get<std::string>(2), {}};
            GYM_TRY(key.kind, parse_account_kind(row.get<std::string>(3)));
            Account account;
            account.digest = account_digest(AccountId{after}, key);
            account.may_overdraw = may_overdraw(key.kind);
            account.asset =
                assets_.try_emplace(key.asset, static_cast<std::uint32_t>(assets_.size()))
                    .first->second;
            accounts_.emplace(after, account);
        }
        if (rows.size() < kAccountPage) return static_cast<std::uint64_t>(accounts_.size());
    }
}

bool Books::add(Amount& to, const Amount& amount, const SealedTransfer& transfer) {
    const auto sum = to.plus(amount);
    if (sum.ok())
        to = *sum;
    else
        findings_.add({name_of(transfer), "a sum leaves 256 bits", "", ""});
    return sum.ok();
}

bool Books::subtract(Amount& from, const Amount& amount, const SealedTransfer& transfer) {
    const auto rest = from.minus(amount);
    if (rest.ok())
        from = *rest;
    else
        findings_.add({name_of(transfer), "gives back more than was reserved", "", ""});
    return rest.ok();
}

Books::Account* Books::account_of(const SealedTransfer& transfer, AccountId id) {
    Account* const account = find(id);
    if (account == nullptr)
        findings_.add({name_of(transfer), "an account of it does not exist",
                       account_name(number(id)), "none"});
    return account;
}

void Books::book(const TransferRow& row) {
    const SealedTransfer& transfer = row.transfer;
    const Digest expected = fingerprint(transfer);
    if (row.fingerprint != expected)
        findings_.add({name_of(transfer), "its content differs from the request: fingerprint",
                       expected.hex(), row.fingerprint.hex()});
    Account* const debit = account_of(transfer, transfer.debit);
    Account* const credit = account_of(transfer, transfer.credit);
    if (debit == nullptr || credit == nullptr) return;
    if (debit == credit || debit->asset != credit->asset)
        findings_.add(
            {name_of(transfer), "its accounts are one, or hold different assets", "", ""});

    Balance& from = debit->balance;
    Balance& to = credit->balance;
    if (transfer.kind == TransferKind::kPending) {
        if (!add(from.debits_pending, transfer.amount, transfer) ||
            !add(to.credits_pending, transfer.amount, transfer))
            return;
        open_[transfer.id] = {transfer.debit, transfer.credit, transfer.amount};
    } else if (transfer.kind != TransferKind::kTransfer) {
        if (!settle_reservation(transfer, *debit, *credit)) return;
    }
    if (transfer.kind == TransferKind::kTransfer || transfer.kind == TransferKind::kPost) {
        if (!add(from.debits, transfer.amount, transfer) ||
            !add(to.credits, transfer.amount, transfer))
            return;
        check_entry(transfer, transfer.debit, *debit, transfer.debit_entry);
        check_entry(transfer, transfer.credit, *credit, transfer.credit_entry);
    } else if (transfer.debit_entry || transfer.credit_entry) {
        findings_.add({name_of(transfer), "has entries and moves nothing", "", ""});
    }
    const auto committed = from.debits.plus(from.debits_pending);
    if (!debit->may_overdraw && (!committed.ok() || *committed > from.credits))
        findings_.add({name_of(transfer), "overdraws " + account_name(number(transfer.debit)),
                       "at least 0", signed_text(from.credits, committed.value_or(from.debits))});
}

/// A post, void or expiry ends the reservation of its pending transfer, once, in full.
bool Books::settle_reservation(const SealedTransfer& transfer, Account& debit, Account& credit) {
    const auto found = transfer.pending ? open_.find(*transfer.pending) : open_.end();
    if (found == open_.end()) {
        findings_.add({name_of(transfer), "resolves no pending transfer that is open",
                       transfer.pending ? "transfer " + to_uuid(*transfer.pending) : "", "none"});
        return false;
    }
    const Reservation held = found->second;
    open_.erase(found);
    if (held.debit != transfer.debit || held.credit != transfer.credit ||
        held.amount != transfer.amount) {
        findings_.add({name_of(transfer), "differs from the pending transfer that it resolves",
                       held.amount.to_string(), transfer.amount.to_string()});
        return false;
    }
    return subtract(debit.balance.debits_pending, transfer.amount, transfer) &&
           subtract(credit.balance.credits_pending, transfer.amount, transfer);
}

void Books::check_entry(const SealedTransfer& transfer, AccountId id, Account& account,
                        const std::optional<SealedEntry>& found) {
    const Balance& balance = account.balance;
    const std::int64_t version = ++account.balance.version;
    ++entries_;
    if (account.is_reported) return;
    const auto report = [&](const char* what, std::string wanted, std::string stored) {
        account.is_reported = true;
        findings_.add({entry_name(number(id), version), what + (", in " + name_of(transfer)),
                       std::move(wanted), std::move(stored)});
    };
    const std::string after = signed_text(balance.credits, balance.debits);
    if (!found) return report("is missing", after, "none");
    if (found->version != version)
        return report("version", std::to_string(version), std::to_string(found->version));
    if (found->balance_after != after) report("balance after it", after, found->balance_after);
}

Status Books::close(Transaction& transaction) {
    for (std::int64_t after = 0; !findings_.full();) {
        GYM_TRY(const Rows rows,
                transaction.exec("SELECT id, debits, credits, debits_pending, credits_pending, "
                                 "version FROM ledger.account WHERE id > $1 ORDER BY id LIMIT $2",
                                 {after, kAccountPage}));
        for (const Row row : rows) {
            after = row.get<std::int64_t>(0);
            compare_account(after, row);
        }
        if (rows.size() < kAccountPage) break;
    }
    return {};
}

void Books::compare_account(std::int64_t id, const Row& row) {
    const Balance& expected = accounts_.at(id).balance;
    const std::string wanted =
        totals_text({expected.debits.to_string(), expected.credits.to_string(),
                     expected.debits_pending.to_string(), expected.credits_pending.to_string(),
                     std::to_string(expected.version)});
    const std::string found =
        totals_text({row.get<std::string>(1), row.get<std::string>(2), row.get<std::string>(3),
                     row.get<std::string>(4), row.get<std::string>(5)});
    if (wanted != found) findings_.add({account_name(id), "totals", wanted, found});
}

}  // namespace gym::ledger
