#include <algorithm>

#include "credits.hpp"
#include "gym/registry/challenges.hpp"

// What follows from a round or a job as a whole: uptime bonuses, late funding, refunds.
namespace gym::rewards {

using ledger::transfer_id;
using ledger::TransferKind;
using ledger::TransferStatus;

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
            }
            return rows.size();
        },
        idempotent());
}

}  // namespace gym::rewards
