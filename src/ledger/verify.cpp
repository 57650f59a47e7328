#include "gym/ledger/verify.hpp"

#include "gym/ledger/ledger.hpp"
#include "verify_seals.hpp"

namespace gym::ledger {
namespace {

using db::Transaction;

Result<std::uint64_t> last_seq(Transaction& transaction) {
    GYM_TRY(const db::Row row,
            transaction.exec_one("SELECT coalesce(max(seq), 0) FROM ledger.transfer"));
    return row.get<std::uint64_t>(0);
}

/// All transfers through the books and the seals, page by page.
Result<std::uint64_t> replay(Transaction& transaction, const VerifyOptions& options, Books& books,
                             SealChain& seals, const Findings& findings) {
    GYM_CHECK(read_in_order(transaction));
    VerifyProgress progress;
    GYM_TRY(progress.seq_max, last_seq(transaction));
    while (!findings.full()) {
        GYM_TRY(const auto rows,
                read_transfers(transaction, {progress.seq, progress.seq_max}, options.page));
        if (rows.empty()) break;
        for (const TransferRow& row : rows) {
            const SealedTransfer& transfer = row.transfer;
            books.book(row);
            GYM_CHECK(seals.add(transaction, transfer,
                                transfer_leaf(transfer, books.digest_of(transfer.debit),
                                              books.digest_of(transfer.credit))));
        }
        progress.seq = rows.back().transfer.seq;
        progress.transfers += rows.size();
        if (options.progress) options.progress(progress);
    }
    return progress.transfers;
}

Status read_views(Transaction& transaction, Findings& findings) {
    GYM_CHECK(
        transaction.exec_script("SET LOCAL enable_seqscan = on; SET LOCAL enable_bitmapscan = on"));
    GYM_TRY(const auto problems, audit(transaction));
    for (const std::string& problem : problems) {
        if (findings.full()) break;
        findings.add({"audit view", problem, "", ""});
    }
    return {};
}

Result<VerifyReport> run(Transaction& transaction, const VerifyOptions& options) {
    VerifyReport report;
    Findings findings(options.problems_max);
    Books books(findings);
    SealChain seals(findings, options);
    GYM_TRY(report.accounts, books.open_accounts(transaction));
    GYM_TRY(report.transfers, replay(transaction, options, books, seals, findings));
    if (!findings.full()) {
        GYM_CHECK(seals.close(transaction));
        GYM_CHECK(books.close(transaction));
    }
    if (options.views && !findings.full()) {
        GYM_CHECK(read_views(transaction, findings));
    }
    report.entries = books.entries();
    report.seals = seals.seals();
    report.unsealed = seals.unsealed();
    report.problems = findings.take();
    return report;
}

}  // namespace

std::string to_string(const Problem& problem) {
    std::string out = problem.row + ": " + problem.what;
    if (!problem.expected.empty()) out += ", expected " + problem.expected;
    if (!problem.found.empty()) out += ", found " + problem.found;
    return out;
}

Result<VerifyReport> verify(db::Database& database, const VerifyOptions& options) {
    db::TransactOptions how;
    how.isolation = db::Isolation::kRepeatableRead;  // all reads see one moment
    how.read_only = true;
    how.idempotent = true;
    return database.transact([&](Transaction& transaction) { return run(transaction, options); },
                             how);
}

}  // namespace gym::ledger
