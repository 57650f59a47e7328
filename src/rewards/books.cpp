#include "books.hpp"

#include <string>
#include <utility>

#include "credit_rows.hpp"
#include "gym/registry/pauses.hpp"

namespace gym::rewards {

using ledger::TransferKind;
using ledger::TransferRequest;
using ledger::TransferStatus;

db::TransactOptions idempotent() {
    db::TransactOptions options;
    options.idempotent = true;
    return options;
}

Result<registry::Job> Books::job(const Digest& id) {
    if (const auto found = jobs.find(id); found != jobs.end()) return found->second;
    GYM_TRY(registry::Job read, registry::get_job(transaction, id));
    return jobs.emplace(id, std::move(read)).first->second;
}

Result<std::vector<registry::JobDataPart>> Books::data_of(const Digest& job_id) {
    if (const auto found = data.find(job_id); found != data.end()) return found->second;
    GYM_TRY(auto read, registry::job_data(transaction, job_id));
    return data.emplace(job_id, std::move(read)).first->second;
}

Result<TransferStatus> Books::move(const ledger::TransferId& id, const ledger::AccountKey& debit,
                                   const ledger::AccountKey& credit, const Amount& amount,
                                   const std::string& reason, TransferKind kind) {
    TransferRequest request;
    request.id = id;
    request.kind = kind;
    GYM_TRY(request.debit, ledger::open_account(transaction, debit));
    GYM_TRY(request.credit, ledger::open_account(transaction, credit));
    request.amount = amount;
    request.reason = reason;
    GYM_TRY(const auto statuses, ledger::submit(transaction, {&request, 1}, now));
    return statuses.at(0);
}

Status Books::must_move(const ledger::TransferId& id, const ledger::AccountKey& debit,
                        const ledger::AccountKey& credit, const Amount& amount,
                        const std::string& reason) {
    GYM_TRY(const TransferStatus status, move(id, debit, credit, amount, reason));
    if (ledger::done(status)) return {};
    return fail(ErrorCode::kConflict, "the ledger refuses '" + reason + "', " + amount.to_string() +
                                          " wei from " + debit.owner + " to " + credit.owner +
                                          ": " + std::string(to_string(status)));
}

Result<TransferStatus> Books::resolve(const ledger::TransferId& id,
                                      const ledger::TransferId& pending, TransferKind kind) {
    TransferRequest request;
    request.id = id;
    request.kind = kind;
    request.pending = pending;
    GYM_TRY(const auto statuses, ledger::submit(transaction, {&request, 1}, now));
    return statuses.at(0);
}

namespace {

/// The owner finds its job paused between two rounds, and why; adding budget resumes it. A
/// request of the owner, such as the job's end, stays.
Status pause_for_budget(Books& books, const Digest& job_id) {
    return registry::request_pause_for_owner(
        books.transaction, job_id,
        std::string(registry::kBudgetPause) +
            "it does not cover a unit that was done, which waits for its pay; `gym job fund` adds "
            "to it and resumes the job");
}

}  // namespace

Status book_credit(Books& books, const ledger::TransferId& id, Credit credit) {
    GYM_TRY(credit.amount, evaluate(credit.inputs));
    if (credit.amount.is_zero()) return {};
    credit.id = to_uuid(id);
    const CreditKind kind = credit.kind();
    const bool waits = kind == CreditKind::kCompute;
    const std::string asset = books.config.asset();
    const std::string reason = std::string(to_string(kind)) +
                               (credit.unit ? " of unit " + credit.unit->hex()
                                            : " of round " + std::to_string(credit.round)) +
                               (credit.dataset ? " for dataset " + credit.dataset->hex() : "");
    GYM_TRY(const TransferStatus status,
            books.move(id,
                       credit.payer ? own_escrow_account(asset, *credit.payer)
                                    : escrow_account(asset, credit.job_id),
                       earned_account(asset, credit.earner), credit.amount, reason,
                       waits ? TransferKind::kPending : TransferKind::kTransfer));
    if (status == TransferStatus::kInsufficient && credit.payer) return {};

    Receipt receipt{.credit = std::move(credit), .created_at = books.now, .changed_at = books.now};
    if (status == TransferStatus::kInsufficient) {
        receipt.state = CreditState::kUnfunded;
        receipt.reason = "the job's escrow could not cover it";
        GYM_CHECK(insert_credit(books.transaction, receipt, !waits));
        return pause_for_budget(books, receipt.credit.job_id);
    }
    if (!ledger::done(status))
        return fail(ErrorCode::kConflict, "the ledger refuses credit " + receipt.credit.id + ": " +
                                              std::string(to_string(status)));
    if (!waits) {
        receipt.state = CreditState::kPosted;
        receipt.posting = receipt.credit.id;
    }
    return insert_credit(books.transaction, receipt, false);
}

}  // namespace gym::rewards
