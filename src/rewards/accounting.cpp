#include "gym/rewards/accounting.hpp"
#include "gym/rewards/epoch_file.hpp"

#include "books.hpp"
#include "locks.hpp"

#include <algorithm>
#include <utility>

#include "gym/registry/challenges.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/feed.hpp"
#include "gym/registry/prefixes.hpp"

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

Credit credit_of(const registry::UnitEventRow& event, const Address& earner,
                 const CreditInputs& inputs) {
    return {.inputs = inputs,
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

/// A unit's tokens of a mix are its parts' in their shares: each provider has a credit of its own.
Status credit_parts(Books& books, const registry::UnitEventRow& event,
                    const std::vector<registry::JobDataPart>& parts) {
    for (const registry::JobDataPart& part : parts) {
        const DataInputs inputs{.tokens = event.tokens,
                                .price = part.price_wei_per_mtoken,
                                .quality_ppm = part.quality_ppm,
                                .part_tokens = part.part_tokens,
                                .mix_tokens = part.mix_tokens,
                                .weight_before = part.weight_before};
        Credit credit = credit_of(event, part.owner, inputs);
        credit.dataset = part.dataset;
        GYM_CHECK(book_credit(books,
                              transfer_id("data:" + event.unit.hex() + ":" + part.dataset.hex()),
                              std::move(credit)));
    }
    return {};
}

/// The dataset's provider earns with every final unit that consumed its tokens, by the terms of the
/// job: those of the dataset when it was submitted.
Status credit_data(Books& books, const registry::UnitEventRow& event) {
    GYM_TRY(const auto parts, books.data_of(event.key.job_id));
    if (!parts.empty()) return credit_parts(books, event, parts);
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

/// The worker is paid for a prefix that was verified, the verifier for a report that was right.
Status book_prefix(Books& books, const registry::DecidedPrefix& prefix) {
    GYM_TRY(const registry::Job job, books.job(prefix.job_id));
    const Amount& price = job.terms.price_wei_per_pflop;
    const auto book = [&](const std::string& cause, const Address& earner, const Address& node,
                          const CreditInputs& inputs) {
        return book_credit(books, transfer_id(cause),
                           {.inputs = inputs,
                            .earner = earner,
                            .job_id = prefix.job_id,
                            .round = prefix.round,
                            .unit = prefix.unit,
                            .node = node});
    };
    if (prefix.verified)
        GYM_CHECK(book("prefix:" + prefix.unit.hex(), prefix.owner, prefix.worker,
                       PrefixInputs{.flops = prefix.flops, .price = price}));
    if (!prefix.verifier) return {};
    return book("verification:" + prefix.unit.hex() + ":prefix", prefix.verifier_owner,
                *prefix.verifier,
                VerificationInputs{.flops = prefix.flops,
                                   .price = price,
                                   .premium_ppm = books.config.verification_premium_ppm});
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

Result<std::size_t> Accounting::consume_prefixes() {
    return consume(database_, clock_, config_, "decided_prefix", registry::read_decided_prefixes,
                   book_prefix);
}

Result<std::size_t> Accounting::consume_reports() {
    return consume(database_, clock_, config_, "accepted_report", registry::read_accepted_reports,
                   book_report);
}

// Payments of a round on top of its credits: the network's fee, of which a part is burned, and the
// emission account's addition to compute (docs/REWARDS.md, "Fees and emission").

namespace {

/// Credits for work; fees are on these, and on nothing else.
constexpr std::string_view kWork = "('compute', 'verification', 'uptime', 'data', 'prefix')";

struct Charge {
    Digest job_id;
    std::uint64_t round = 0;
    Amount amount;
    std::string cause;  ///< of the transfers' ids
};

/// Both parts of the fee on `charge`. @return what is burned by it, zero if the job could not pay.
Result<Amount> book_fee(Books& books, const Charge& charge) {
    const FeeTerms& terms = books.config.fees;
    const auto book = [&](const ledger::TransferId& id, const Address& earner,
                          const CreditInputs& inputs) {
        return book_credit(
            books, id,
            {.inputs = inputs, .earner = earner, .job_id = charge.job_id, .round = charge.round});
    };
    const ledger::TransferId burn_id = transfer_id("burn:" + charge.cause);
    GYM_CHECK(book(transfer_id("fee:" + charge.cause), terms.account,
                   FeeInputs{charge.amount, terms.fee_ppm, terms.burned_ppm}));
    GYM_CHECK(
        book(burn_id, kBurnAddress, BurnInputs{charge.amount, terms.fee_ppm, terms.burned_ppm}));
    GYM_TRY(const auto burned,
            books.transaction.exec_optional(
                "SELECT amount FROM rewards.credit WHERE id = $1 AND state = 'posted'",
                {to_uuid(burn_id)}));
    return burned ? burned->get<Amount>(0) : Amount();
}

/// All shares or none: the last in the list must not depend on what the account has left.
Result<bool> covers(Books& books, const Amount& burned) {
    const FeeTerms& terms = books.config.fees;
    GYM_TRY(const Amount most, burned.mul_div(Amount(terms.emission_ppm), Amount(kPpm)));
    GYM_TRY(const ledger::Balance balance,
            ledger::balance(books.transaction,
                            own_escrow_account(books.config.asset(), terms.emission_account)));
    return !most.is_zero() && balance.spendable() >= most;
}

Status book_emission(Books& books, const Charge& charge, const Amount& burned) {
    GYM_TRY(const bool is_covered, covers(books, burned));
    if (!is_covered) return {};
    GYM_TRY(const db::Rows rows,
            books.transaction.exec(
                "SELECT node, earner, sum(amount) AS compute, sum(sum(amount)) OVER () AS total "
                "FROM rewards.credit WHERE job_id = $1 AND round = $2 AND kind = 'compute' "
                "AND state = 'posted' GROUP BY node, earner ORDER BY node, earner",
                {charge.job_id, charge.round}));
    for (const db::Row row : rows) {
        const auto node = row.get<Address>("node");
        const auto earner = row.get<Address>("earner");
        const EmissionInputs inputs{.burned = burned,
                                    .emission_ppm = books.config.fees.emission_ppm,
                                    .compute = row.get<Amount>("compute"),
                                    .compute_total = row.get<Amount>("total")};
        GYM_CHECK(book_credit(
            books, transfer_id("emission:" + charge.cause + ":" + node.hex() + ":" + earner.hex()),
            {.inputs = inputs,
             .earner = earner,
             .job_id = charge.job_id,
             .round = charge.round,
             .node = node,
             .payer = books.config.fees.emission_account}));
    }
    return {};
}

}  // namespace

Status book_round_fees(Books& books, const Digest& job_id, std::uint64_t round) {
    const FeeTerms& terms = books.config.fees;
    if (terms.fee_ppm == 0) return {};
    GYM_TRY(const db::Row row,
            books.transaction.exec_one("SELECT coalesce(sum(amount), 0) FROM rewards.credit "
                                       "WHERE job_id = $1 AND round = $2 AND state = 'posted' "
                                       "AND kind IN " +
                                           std::string(kWork),
                                       {job_id, round}));
    const Charge charge{job_id, round, row.get<Amount>(0),
                        job_id.hex() + ":" + std::to_string(round)};
    GYM_TRY(const Amount burned, book_fee(books, charge));
    if (terms.emission_ppm == 0) return {};
    return book_emission(books, charge, burned);
}

Status book_late_fee(Books& books, const std::string& credit_uuid) {
    if (books.config.fees.fee_ppm == 0) return {};
    GYM_TRY(const auto row,
            books.transaction.exec_optional(
                "SELECT c.job_id, c.round, c.amount FROM rewards.credit c "
                "JOIN rewards.finished_round f ON f.job_id = c.job_id AND f.round = c.round "
                "WHERE c.id = $1 AND c.state = 'posted' AND c.kind IN " +
                    std::string(kWork),
                {credit_uuid}));
    if (!row) return {};
    const Charge charge{row->get<Digest>("job_id"), row->get<std::uint64_t>("round"),
                        row->get<Amount>("amount"), "late:" + credit_uuid};
    GYM_CHECK(book_fee(books, charge));
    return {};
}

Status Accounting::publish_fee() {
    return database_.transact(
        [&](db::Transaction& transaction) -> Status {
            GYM_CHECK(transaction.exec(
                "INSERT INTO rewards.fee_terms AS t (fee_ppm, burned_ppm, changed_at_ms, "
                "verification_premium_ppm, uptime_bonus_max_ppm) VALUES ($1, $2, $3, $4, $5) "
                "ON CONFLICT (id) DO UPDATE SET fee_ppm = excluded.fee_ppm, "
                "burned_ppm = excluded.burned_ppm, changed_at_ms = excluded.changed_at_ms, "
                "verification_premium_ppm = excluded.verification_premium_ppm, "
                "uptime_bonus_max_ppm = excluded.uptime_bonus_max_ppm "
                "WHERE (t.fee_ppm, t.burned_ppm, t.verification_premium_ppm, "
                "t.uptime_bonus_max_ppm) IS DISTINCT FROM (excluded.fee_ppm, excluded.burned_ppm, "
                "excluded.verification_premium_ppm, excluded.uptime_bonus_max_ppm)",
                {config_.fees.fee_ppm, config_.fees.burned_ppm, clock_.now_ms(),
                 config_.verification_premium_ppm, config_.uptime_bonus_max_ppm}));
            return {};
        },
        idempotent());
}

// Consequences of a round or a job as a whole: uptime bonuses, late funding, refunds.

namespace {

struct ClosedRound {
    Digest job_id;
    std::uint64_t round = 0;
    std::uint64_t registry_epoch = 0;
    UnixMs opened_at = 0;
    UnixMs closed_at = 0;
};

/// Closed rounds not finished yet, all of whose events were booked.
Result<std::vector<ClosedRound>> read_closed_rounds(db::Transaction& transaction,
                                                    std::uint32_t limit) {
    GYM_TRY(const db::Rows rows,
            transaction.exec(
                "SELECT r.job_id, r.round, r.epoch, r.opened_at_ms, r.closed_at_ms FROM "
                "registry.round r "
                "WHERE r.state = 'closed' AND NOT EXISTS (SELECT FROM rewards.finished_round f "
                "WHERE f.job_id = r.job_id AND f.round = r.round) "
                "AND NOT EXISTS (SELECT FROM registry.unit u JOIN registry.unit_event e ON "
                "e.unit_id = u.id "
                "WHERE u.job_id = r.job_id AND u.round = r.round AND e.seq > "
                "(SELECT position FROM rewards.cursor WHERE name = 'unit_event')) "
                "AND NOT EXISTS (SELECT FROM registry.unit u JOIN registry.report p ON p.unit_id = "
                "u.id "
                "WHERE u.job_id = r.job_id AND u.round = r.round AND p.accepted_seq > "
                "(SELECT position FROM rewards.cursor WHERE name = 'accepted_report')) "
                "AND NOT EXISTS (SELECT FROM registry.unit u JOIN registry.unit_prefix x ON "
                "x.unit_id = u.id WHERE u.job_id = r.job_id AND u.round = r.round AND x.seq > "
                "(SELECT position FROM rewards.cursor WHERE name = 'decided_prefix')) "
                "ORDER BY r.epoch LIMIT $1",
                {limit}));
    std::vector<ClosedRound> rounds;
    for (const db::Row row : rows)
        rounds.push_back({row.get<Digest>("job_id"), row.get<std::uint64_t>("round"),
                          row.get<std::uint64_t>("epoch"), row.get<UnixMs>("opened_at_ms"),
                          row.get<UnixMs>("closed_at_ms")});
    return rounds;
}

/// Over the round, or the configured window if that is longer.
UptimeSpan uptime_span(const Books& books, const ClosedRound& round) {
    const UnixMs window = round.closed_at - books.config.uptime_window_ms;
    return {std::max<UnixMs>(std::min(round.opened_at, window), 0), round.closed_at};
}

Status book_uptime(Books& books, const ClosedRound& round, const UptimeSpan& span) {
    GYM_TRY(
        const db::Rows rows,
        books.transaction.exec(
            "SELECT node, earner, sum(amount) AS compute FROM rewards.credit WHERE job_id = $1 AND "
            "round = $2 AND kind = 'compute' AND state = 'posted' GROUP BY node, earner ORDER BY "
            "node",
            {round.job_id, round.round}));
    for (const db::Row row : rows) {
        const auto node = row.get<Address>("node");
        GYM_TRY(const registry::Uptime uptime,
                registry::uptime(books.transaction, node, span.from_ms, span.to_ms));
        const UptimeInputs inputs{.compute = row.get<Amount>("compute"),
                                  .uptime_ppm = uptime.ppm(),
                                  .bonus_max_ppm = books.config.uptime_bonus_max_ppm,
                                  .challenges = uptime.issued,
                                  .answered = uptime.answered};
        GYM_CHECK(book_credit(books,
                              transfer_id("uptime:" + round.job_id.hex() + ":" +
                                          std::to_string(round.round) + ":" + node.hex()),
                              {.inputs = inputs,
                               .earner = row.get<Address>("earner"),
                               .job_id = round.job_id,
                               .round = round.round,
                               .node = node}));
    }
    return {};
}

}  // namespace

Result<std::size_t> Accounting::finish_rounds() {
    return database_.transact(
        [&](db::Transaction& transaction) -> Result<std::size_t> {
            // Serialises with the feeds: their cursors cannot move meanwhile.
            GYM_CHECK(transaction.exec("SELECT FROM rewards.cursor ORDER BY name FOR UPDATE"));
            GYM_TRY(const auto rounds, read_closed_rounds(transaction, config_.batch_max));
            Books books{transaction, config_, clock_.now_ms()};
            for (const ClosedRound& round : rounds) {
                const UptimeSpan span = uptime_span(books, round);
                GYM_CHECK(book_uptime(books, round, span));
                GYM_CHECK(book_round_fees(books, round.job_id, round.round));
                GYM_CHECK(
                    transaction.exec("INSERT INTO rewards.finished_round (job_id, round, "
                                     "registry_epoch, finished_at_ms, uptime_from_ms, "
                                     "uptime_to_ms) VALUES ($1, $2, $3, $4, $5, $6)",
                                     {round.job_id, round.round, round.registry_epoch, books.now,
                                      span.from_ms, span.to_ms}));
            }
            return rounds.size();
        },
        idempotent());
}

Result<std::size_t> Accounting::fund_unfunded() {
    return database_.transact(
        [&](db::Transaction& transaction) -> Result<std::size_t> {
            GYM_TRY(const db::Rows rows,
                    // Only what a job can pay now: jobs that stay empty must not fill the batch.
                    transaction.exec(
                        "SELECT c.id, c.kind, c.due, c.earner, c.job_id, c.amount "
                        "FROM rewards.credit c JOIN ledger.account a ON a.kind = 'escrow' "
                        "AND a.asset = $2 AND a.owner = 'job:0x' || encode(c.job_id, 'hex') "
                        "WHERE c.state = 'unfunded' "
                        "AND c.amount <= a.credits - a.debits - a.debits_pending "
                        "ORDER BY c.created_at_ms, c.id LIMIT $1 FOR UPDATE OF c",
                        {config_.batch_max, config_.asset()}));
            Books books{transaction, config_, clock_.now_ms()};
            std::size_t funded = 0;
            for (const db::Row row : rows) {
                const auto uuid = row.get<std::string>("id");
                GYM_TRY(const ledger::TransferId id, ledger::parse_uuid(uuid));
                const bool due = row.get<bool>("due");
                GYM_TRY(const TransferStatus status,
                        books.move(id, escrow_account(config_.asset(), row.get<Digest>("job_id")),
                                   earned_account(config_.asset(), row.get<Address>("earner")),
                                   row.get<Amount>("amount"),
                                   row.get<std::string>("kind") + ", paid late",
                                   due ? TransferKind::kTransfer : TransferKind::kPending));
                if (!ledger::done(status)) continue;
                GYM_CHECK(transaction.exec(
                    "UPDATE rewards.credit SET state = $2, posting = $3, reason = "
                    "'', changed_at_ms = $4 "
                    "WHERE id = $1",
                    {uuid, to_string(due ? CreditState::kPosted : CreditState::kPending),
                     due ? db::Param(uuid) : db::Param(std::nullopt), books.now}));
                if (due) GYM_CHECK(book_late_fee(books, uuid));
                ++funded;
            }
            return funded;
        },
        idempotent());
}

Status Accounting::end_jobs_of_leaving() {
    return database_.transact(
        [&](db::Transaction& transaction) -> Status {
            GYM_CHECK(transaction.exec(
                "UPDATE registry.job j SET request = 'cancel', request_reason = '' "
                "FROM rewards.leaving l WHERE l.owner = j.owner AND j.ended_at_ms IS NULL "
                "AND j.request IS DISTINCT FROM 'cancel'"));
            return {};
        },
        idempotent());
}

Result<std::size_t> Accounting::refund_ended_jobs() {
    return database_.transact(
        [&](db::Transaction& transaction) -> Result<std::size_t> {
            GYM_TRY(
                const db::Rows rows,
                transaction.exec("SELECT j.id, j.owner, a.id AS account, a.credits - a.debits AS "
                                 "left_over, a.version "
                                 "FROM registry.job j JOIN ledger.account a ON a.kind = 'escrow' "
                                 "AND a.asset = $1 "
                                 "AND a.owner = 'job:0x' || encode(j.id, 'hex') "
                                 "WHERE j.ended_at_ms IS NOT NULL AND a.credits > a.debits AND "
                                 "a.debits_pending = 0 "
                                 "AND NOT EXISTS (SELECT FROM registry.round r WHERE r.job_id = "
                                 "j.id AND NOT EXISTS "
                                 "(SELECT FROM rewards.finished_round f WHERE f.job_id = r.job_id "
                                 "AND f.round = r.round)) ORDER BY j.id LIMIT $2",
                                 {config_.asset(), config_.batch_max}));
            Books books{transaction, config_, clock_.now_ms()};
            for (const db::Row row : rows) {
                const auto job_id = row.get<Digest>("id");
                GYM_CHECK(transaction.exec(
                    "UPDATE rewards.credit SET state = 'void', due = false, changed_at_ms = $2, "
                    "reason = 'the job ended without the budget for it' "
                    "WHERE job_id = $1 AND state = 'unfunded'",
                    {job_id, books.now}));
                const auto version = row.get<std::int64_t>("version");
                GYM_CHECK(books.must_move(
                    transfer_id("refund:" + job_id.hex() + ":" + std::to_string(version)),
                    escrow_account(config_.asset(), job_id),
                    available_account(config_.asset(), row.get<Address>("owner")),
                    row.get<Amount>("left_over"), "what is left of job " + job_id.hex()));
                GYM_CHECK(
                    need_less(books, row.get<Address>("owner"), row.get<Amount>("left_over")));
            }
            return rows.size();
        },
        idempotent());
}

}  // namespace gym::rewards
