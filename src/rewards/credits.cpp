#include "credits.hpp"

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

/// The owner finds its job paused between two rounds, and why; adding budget resumes it. What the
/// owner itself asked for, maybe the job's end, stays.
Status pause_for_budget(Books& books, const Digest& job_id) {
    return registry::request_pause_for_owner(
        books.transaction, job_id,
        "budget: it does not cover a unit that was done, which waits for its pay; `gym job fund` "
        "adds to it and resumes the job");
}

Status insert_credit(Books& books, const NewCredit& credit, const Amount& amount, CreditState state,
                     bool due, const std::string& reason) {
    std::optional<std::string> posting;
    if (state == CreditState::kPosted) posting = to_uuid(credit.id);
    const CreditInputs& in = credit.inputs;
    std::optional<Address> node;
    if (!credit.node.is_zero()) node = credit.node;
    GYM_CHECK(
        books.transaction.exec("INSERT INTO rewards.credit (id, kind, state, posting, due, earner, "
                               "node, job_id, round, unit_id, "
                               "flops, tokens, price, premium_ppm, quality_ppm, compute, "
                               "uptime_ppm, bonus_max_ppm, amount, reason, "
                               "created_at_ms, changed_at_ms, challenges, answered, charged, "
                               "fee_ppm, burned_ppm, burned, emission_ppm, compute_total, payer) "
                               "VALUES ($1, $2, $3, $4, $5, $6, $7, "
                               "$8, $9, $10, $11, $12, $13, $14, "
                               "$15, $16, $17, $18, $19, $20, $21, $21, $22, $23, $24, $25, $26, "
                               "$27, $28, $29, $30)",
                               {to_uuid(credit.id),
                                to_string(credit.kind),
                                to_string(state),
                                posting,
                                due,
                                credit.earner,
                                node,
                                credit.job_id,
                                credit.round,
                                credit.unit,
                                in.flops,
                                in.tokens,
                                in.price,
                                in.premium_ppm,
                                in.quality_ppm,
                                in.compute,
                                in.uptime_ppm,
                                in.bonus_max_ppm,
                                amount,
                                reason,
                                books.now,
                                in.challenges,
                                in.answered,
                                in.charged,
                                in.fee_ppm,
                                in.burned_ppm,
                                in.burned,
                                in.emission_ppm,
                                in.compute_total,
                                credit.payer}));
    return {};
}

}  // namespace

Status book_credit(Books& books, const NewCredit& credit) {
    GYM_TRY(const Amount amount, evaluate(credit.kind, credit.inputs));
    if (amount.is_zero()) return {};
    const bool waits = credit.kind == CreditKind::kCompute;
    const std::string asset = books.config.asset();
    const std::string reason = std::string(to_string(credit.kind)) +
                               (credit.unit ? " of unit " + credit.unit->hex()
                                            : " of round " + std::to_string(credit.round));
    GYM_TRY(const TransferStatus status,
            books.move(credit.id,
                       credit.payer ? available_account(asset, *credit.payer)
                                    : escrow_account(asset, credit.job_id),
                       earned_account(asset, credit.earner), amount, reason,
                       waits ? TransferKind::kPending : TransferKind::kTransfer));
    if (status == TransferStatus::kInsufficient && credit.payer) return {};
    if (status == TransferStatus::kInsufficient) {
        GYM_CHECK(insert_credit(books, credit, amount, CreditState::kUnfunded, !waits,
                                "the job's escrow could not cover it"));
        return pause_for_budget(books, credit.job_id);
    }
    if (!ledger::done(status))
        return fail(ErrorCode::kConflict, "the ledger refuses credit " + to_uuid(credit.id) + ": " +
                                              std::string(to_string(status)));
    return insert_credit(books, credit, amount,
                         waits ? CreditState::kPending : CreditState::kPosted, false, "");
}

}  // namespace gym::rewards
