#include <algorithm>

#include "credits.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/feed.hpp"

// From unit states and accepted reports to credits.
namespace gym::rewards {

using ledger::transfer_id;
using ledger::TransferKind;
using ledger::TransferStatus;
using protocol::UnitState;

namespace {

Result<std::uint64_t> lock_cursor(db::Transaction& transaction, std::string_view name) {
    GYM_TRY(const db::Row row,
            transaction.exec_one("SELECT position FROM rewards.cursor WHERE name = $1 FOR UPDATE",
                                 {name}));
    return row.get<std::uint64_t>(0);
}

Status move_cursor(db::Transaction& transaction, std::string_view name, std::uint64_t position) {
    GYM_CHECK(transaction.exec("UPDATE rewards.cursor SET position = $2 WHERE name = $1",
                               {name, position}));
    return {};
}

Credit credit_of(const registry::UnitEventRow& event, const Address& earner, CreditInputs inputs) {
    return {.inputs = std::move(inputs),
            .earner = earner,
            .job_id = event.key.job_id,
            .round = event.key.round,
            .unit = event.unit,
            .node = event.worker};
}

Status credit_committed(Books& books, const registry::UnitEventRow& event) {
    GYM_TRY(const registry::Job job, books.job(event.key.job_id));
    const ComputeInputs inputs{.flops = event.flops, .price = job.terms.price_wei_per_pflop};
    return book_credit(books, transfer_id("compute:" + event.unit.hex()),
                       credit_of(event, event.owner, inputs));
}

/// The dataset's provider earns with every final unit that consumed its tokens, by the terms of the
/// job: those of the dataset when it was submitted.
Status credit_data(Books& books, const registry::UnitEventRow& event) {
    GYM_TRY(const registry::Job job, books.job(event.key.job_id));
    GYM_TRY(const registry::Dataset dataset,
            registry::get_dataset(books.transaction, job.dataset_root));
    const DataInputs inputs{.tokens = event.tokens,
                            .price = job.data_price_wei_per_mtoken,
                            .quality_ppm = job.data_quality_ppm};
    return book_credit(books, transfer_id("data:" + event.unit.hex()),
                       credit_of(event, dataset.owner, inputs));
}

/// Posts or voids the compute credit of a unit that ended.
Status decide(Books& books, const registry::UnitEventRow& event) {
    const bool is_final = event.to == UnitState::kFinal;
    const auto pending = transfer_id("compute:" + event.unit.hex());
    GYM_TRY(const auto row,
            books.transaction.exec_optional(
                "SELECT state FROM rewards.credit WHERE id = $1 FOR UPDATE", {to_uuid(pending)}));
    if (!row) return {};  // never committed, or worth nothing
    GYM_TRY(const CreditState state, parse_credit_state(row->get<std::string>(0)));
    const std::string why =
        event.reason.empty() ? "the unit ended " + std::string(to_string(event.to)) : event.reason;
    if (state == CreditState::kUnfunded) {
        if (is_final) {
            GYM_CHECK(books.transaction.exec(
                "UPDATE rewards.credit SET due = true, changed_at_ms = $2 WHERE id = $1",
                {to_uuid(pending), books.now}));
        } else {
            GYM_CHECK(books.transaction.exec(
                "UPDATE rewards.credit SET state = $4, reason = $3, "
                "changed_at_ms = $2 WHERE id = $1",
                {to_uuid(pending), books.now, why, to_string(CreditState::kVoid)}));
        }
        return {};
    }
    if (state != CreditState::kPending) return {};
    const auto decision = transfer_id((is_final ? "post:" : "void:") + to_uuid(pending));
    GYM_TRY(const TransferStatus status,
            books.resolve(decision, pending, is_final ? TransferKind::kPost : TransferKind::kVoid));
    if (!ledger::done(status))
        return fail(ErrorCode::kConflict, "the ledger refuses to decide credit " +
                                              to_uuid(pending) + ": " +
                                              std::string(to_string(status)));
    GYM_CHECK(books.transaction.exec(
        "UPDATE rewards.credit SET state = $2, posting = $3, reason = $4, "
        "changed_at_ms = $5 WHERE id = $1",
        {to_uuid(pending), to_string(is_final ? CreditState::kPosted : CreditState::kVoid),
         to_uuid(decision), is_final ? std::string() : why, books.now}));
    return {};
}

Status book_unit_event(Books& books, const registry::UnitEventRow& event) {
    if (event.kind != protocol::UnitKind::kTrain)
        return {};  // the coordinator's own work is not paid
    switch (event.to) {
        case UnitState::kCommitted:
            return credit_committed(books, event);
        case UnitState::kFinal:
            GYM_CHECK(decide(books, event));
            return credit_data(books, event);
        case UnitState::kExpired:
        case UnitState::kRejected:
        case UnitState::kSlashed:
        case UnitState::kUnpaid:
        case UnitState::kVoid:
            return decide(books, event);
        default:
            return {};  // on the way; nothing changes for the credit
    }
}

Status book_report(Books& books, const registry::AcceptedReport& report) {
    GYM_TRY(const registry::Job job, books.job(report.job_id));
    const VerificationInputs inputs{.flops = report.flops,
                                    .price = job.terms.price_wei_per_pflop,
                                    .premium_ppm = books.config.verification_premium_ppm};
    return book_credit(
        books, transfer_id("verification:" + report.unit.hex() + ":" + std::to_string(report.draw)),
        {.inputs = inputs,
         .earner = report.owner,
         .job_id = report.job_id,
         .round = report.round,
         .unit = report.unit,
         .node = report.verifier});
}

/// One batch of a feed: cursor and money move together.
template <class Read, class Book>
Result<std::size_t> consume(db::Database& database, const Clock& clock, const RewardsConfig& config,
                            std::string_view name, Read&& read, Book&& book) {
    return database.transact(
        [&](db::Transaction& transaction) -> Result<std::size_t> {
            GYM_TRY(const std::uint64_t after, lock_cursor(transaction, name));
            GYM_TRY(const auto rows, read(transaction, after, config.batch_max));
            Books books{transaction, config, clock.now_ms()};
            std::uint64_t expected = after;
            for (const auto& row : rows) {
                if (row.seq != ++expected)
                    return fail(ErrorCode::kMismatch, "the feed " + std::string(name) +
                                                          " has a gap before " +
                                                          std::to_string(row.seq));
                GYM_CHECK(book(books, row));
            }
            if (!rows.empty()) GYM_CHECK(move_cursor(transaction, name, rows.back().seq));
            return rows.size();
        },
        idempotent());
}

}  // namespace

Result<std::size_t> Accounting::consume_unit_events() {
    return consume(database_, clock_, config_, "unit_event", registry::read_events,
                   book_unit_event);
}

Result<std::size_t> Accounting::consume_reports() {
    return consume(database_, clock_, config_, "accepted_report", registry::read_accepted_reports,
                   book_report);
}

}  // namespace gym::rewards
