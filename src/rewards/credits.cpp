#include "credits.hpp"

#include <type_traits>
#include <utility>

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

/// Names and parameters of an INSERT.
class Insertion {
  public:
    void add(std::string_view column, db::Param value) {
        columns_ += (columns_.empty() ? "" : ", ") + std::string(column);
        values_ += (values_.empty() ? "$" : ", $") + std::to_string(params_.size() + 1);
        params_.push_back(std::move(value));
    }
    Status run(db::Transaction& transaction) const {
        GYM_CHECK(transaction.exec(
            "INSERT INTO rewards.credit (" + columns_ + ") VALUES (" + values_ + ")", params_));
        return {};
    }

  private:
    std::string columns_, values_;
    std::vector<db::Param> params_;
};

Status insert_credit(Books& books, const Receipt& receipt, bool due) {
    Insertion insertion;
    const auto add = [&](const auto& field, const auto& value) {
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, CreditInputs>)
            insertion.add(field.column, to_string(kind_of(value)));
        else if constexpr (std::is_same_v<Value, CreditState>)
            insertion.add(field.column, to_string(value));
        else
            insertion.add(field.column, value);
    };
    for_each_value(kCreditFields, receipt, add);
    for_each_value(kBookingFields, receipt, add);
    // The columns of other kinds have a default of 0.
    for_each_input(receipt.credit.inputs, [&](const auto& field, const auto* value) {
        if (value) insertion.add(field.name, *value);
    });
    insertion.add("due", due);
    return insertion.run(books.transaction);
}

}  // namespace

Status book_credit(Books& books, const ledger::TransferId& id, Credit credit) {
    GYM_TRY(credit.amount, evaluate(credit.inputs));
    if (credit.amount.is_zero()) return {};
    credit.id = to_uuid(id);
    const CreditKind kind = credit.kind();
    const bool waits = kind == CreditKind::kCompute;
    const std::string asset = books.config.asset();
    const std::string reason =
        std::string(to_string(kind)) + (credit.unit ? " of unit " + credit.unit->hex()
                                                    : " of round " + std::to_string(credit.round));
    GYM_TRY(const TransferStatus status,
            books.move(id,
                       credit.payer ? available_account(asset, *credit.payer)
                                    : escrow_account(asset, credit.job_id),
                       earned_account(asset, credit.earner), credit.amount, reason,
                       waits ? TransferKind::kPending : TransferKind::kTransfer));
    if (status == TransferStatus::kInsufficient && credit.payer) return {};

    Receipt receipt{.credit = std::move(credit), .created_at = books.now, .changed_at = books.now};
    if (status == TransferStatus::kInsufficient) {
        receipt.state = CreditState::kUnfunded;
        receipt.reason = "the job's escrow could not cover it";
        GYM_CHECK(insert_credit(books, receipt, !waits));
        return pause_for_budget(books, receipt.credit.job_id);
    }
    if (!ledger::done(status))
        return fail(ErrorCode::kConflict, "the ledger refuses credit " + receipt.credit.id + ": " +
                                              std::string(to_string(status)));
    if (!waits) {
        receipt.state = CreditState::kPosted;
        receipt.posting = receipt.credit.id;
    }
    return insert_credit(books, receipt, false);
}

const std::string& receipt_select() {
    static const std::string select = [] {
        std::string columns;
        const auto add = [&](std::string_view column) {
            columns.append(columns.empty() ? "c." : ", c.").append(column);
        };
        for_each_field(kCreditFields, [&](const auto& field) { add(field.column); });
        for_each_field(kInputFields, [&](const auto& field) { add(field.name); });
        for_each_field(kBookingFields, [&](const auto& field) { add(field.column); });
        return "SELECT " + columns + " FROM rewards.credit c ";
    }();
    return select;
}

Result<Receipt> to_receipt(const db::Row& row) {
    Receipt receipt;
    Status status;
    const auto read = [&](const auto& field, auto& out) {
        using Value = std::remove_reference_t<decltype(out)>;
        const auto keep = [&](auto parsed) {
            if (!parsed.ok()) status = parsed.error();
            return parsed.value_or({});
        };
        if constexpr (std::is_same_v<Value, CreditInputs>)
            out = zero_inputs(keep(parse_credit_kind(row.get<std::string>(field.column))));
        else if constexpr (std::is_same_v<Value, CreditState>)
            out = keep(parse_credit_state(row.get<std::string>(field.column)));
        else
            out = row.get<Value>(field.column);
    };
    for_each_value(kCreditFields, receipt, read);
    for_each_value(kBookingFields, receipt, read);
    for_each_input(receipt.credit.inputs, [&](const auto& field, auto* value) {
        if (value) *value = row.get<std::remove_reference_t<decltype(*value)>>(field.name);
    });
    GYM_CHECK(status);
    return receipt;
}

}  // namespace gym::rewards
