#include "gym/registry/rounds.hpp"

#include <algorithm>
#include <array>

namespace gym::registry {
namespace {

constexpr std::array<std::string_view, 7> kNames = {"recorded",  "open",       "sealed", "posted",
                                                    "verifying", "aggregated", "closed"};

Digest required_digest(const db::Row& row, std::string_view column) {
    return row.get<Digest>(column);
}

std::optional<StateRef> optional_state(const db::Row& row, const std::string& prefix) {
    if (row.is_null(prefix + "_root")) return std::nullopt;
    return StateRef{required_digest(row, prefix + "_root"), required_digest(row, prefix + "_blob")};
}

Result<Round> to_round(const db::Row& row) {
    Round out;
    out.job_id = row.get<Digest>("job_id");
    out.round = row.get<std::uint64_t>("round");
    GYM_TRY(out.state, parse_round_state(row.get<std::string>("state")));
    GYM_TRY(out.record, protocol::decode_round_record(row.get<Bytes>("record")));
    out.record_hash = row.get<Digest>("record_hash");
    out.base = {required_digest(row, "base_state_root"), required_digest(row, "base_state_blob")};
    out.momentum = {required_digest(row, "momentum_root"), required_digest(row, "momentum_blob")};
    out.epoch = row.get<std::uint64_t>("epoch");
    out.recorded_at_ms = row.get<UnixMs>("recorded_at_ms");
    out.opened_at_ms = row.get<std::optional<UnixMs>>("opened_at_ms");
    out.unit_deadline_ms = row.get<std::optional<UnixMs>>("unit_deadline_ms");
    out.sealed_at_ms = row.get<std::optional<UnixMs>>("sealed_at_ms");
    out.commitments_root = row.get<std::optional<Digest>>("commitments_root");
    out.commitment_count = row.get<std::optional<std::uint32_t>>("commitment_count");
    out.posted_block = row.get<std::optional<std::uint64_t>>("posted_block");
    out.beacon_block = row.get<std::optional<std::uint64_t>>("beacon_block");
    out.drand_round = row.get<std::optional<std::uint64_t>>("drand_round");
    out.beacon = row.get<std::optional<Digest>>("beacon");
    out.next_base = optional_state(row, "next_base");
    out.next_momentum = optional_state(row, "next_momentum");
    out.next_update_blob = row.get<std::optional<Digest>>("next_update_blob");
    out.aggregate_program_root = row.get<std::optional<Digest>>("aggregate_program_root");
    out.aggregate_program_blob = row.get<std::optional<Digest>>("aggregate_program_blob");
    out.validation_loss = row.get<std::optional<double>>("validation_loss");
    out.aggregated_at_ms = row.get<std::optional<UnixMs>>("aggregated_at_ms");
    out.closed_at_ms = row.get<std::optional<UnixMs>>("closed_at_ms");
    return out;
}

Result<std::vector<Round>> to_rounds(const db::Rows& rows) {
    std::vector<Round> out;
    out.reserve(rows.size());
    for (const db::Row row : rows) {
        GYM_TRY(Round round, to_round(row));
        out.push_back(std::move(round));
    }
    return out;
}

std::string name_of(const Digest& job_id, std::uint64_t round) {
    return "round " + std::to_string(round) + " of job " + job_id.hex();
}

Status expect_step(const db::Rows& rows, const Digest& job_id, std::uint64_t round,
                   std::string_view step) {
    if (rows.affected() == 1) return {};
    return fail(ErrorCode::kConflict,
                name_of(job_id, round) + " cannot become " + std::string(step) + " now");
}

/// @param state after it, @param condition of the round before: SQL of this file.
Result<db::Rows> store_outcome(db::Transaction& tx, const Digest& job_id, std::uint64_t round,
                               const std::string& state, const std::string& condition,
                               const AggregateOutcome& outcome, UnixMs now_ms) {
    return tx.exec(
        "UPDATE registry.round SET state = " + state +
            ", next_base_root = $3, next_base_blob = $4, next_momentum_root = $5, "
            "next_momentum_blob = $6, aggregate_program_root = $7, "
            "aggregate_program_blob = $8, validation_loss = $9, aggregated_at_ms = $10, "
            "next_update_blob = $11 WHERE job_id = $1 AND round = $2 AND " +
            condition,
        {job_id, round, outcome.next_base.root, outcome.next_base.blob, outcome.next_momentum.root,
         outcome.next_momentum.blob, outcome.aggregate_program_root, outcome.aggregate_program_blob,
         outcome.validation_loss, now_ms, outcome.next_update_blob});
}

}  // namespace

std::string_view to_string(RoundState state) noexcept {
    return kNames[static_cast<std::size_t>(state)];
}

Result<RoundState> parse_round_state(std::string_view name) {
    for (std::size_t i = 0; i < kNames.size(); ++i)
        if (kNames[i] == name) return static_cast<RoundState>(i);
    return fail(ErrorCode::kMalformed, "no round state is called '" + std::string(name) + "'");
}

Status lock_epochs(db::Transaction& tx) {
    GYM_TRY([[maybe_unused]] const db::Row row,
            tx.exec_one("SELECT last FROM registry.sequence WHERE name = 'epoch' FOR UPDATE"));
    return {};
}

Result<Round> record_round(db::Transaction& tx, const protocol::RoundRecord& record,
                           const StateRef& base, const StateRef& momentum, UnixMs now_ms) {
    GYM_CHECK(protocol::validate(record));
    const Digest hash = protocol::hash(record);
    // Whoever numbers the epoch holds the lock, so two recorders of one round cannot both pass.
    GYM_TRY(const db::Row number, tx.exec_one("SELECT last + 1 FROM registry.sequence "
                                              "WHERE name = 'epoch' FOR UPDATE"));
    GYM_TRY(const auto last, last_round(tx, record.job_id));
    if (last && last->round == record.round) {
        if (last->record_hash == hash) return *last;
        return fail(ErrorCode::kConflict,
                    name_of(record.job_id, record.round) + " has another record");
    }
    if (record.round != (last ? last->round + 1 : 1))
        return fail(ErrorCode::kConflict,
                    name_of(record.job_id, record.round) + " does not follow the last round");
    GYM_TRY([[maybe_unused]] const db::Row taken,
            tx.exec_one("SELECT registry.next_number('epoch')"));
    GYM_TRY(
        [[maybe_unused]] const db::Rows inserted,
        tx.exec("INSERT INTO registry.round (job_id, round, record, record_hash, "
                "base_state_root, base_state_blob, momentum_root, momentum_blob, epoch, "
                "recorded_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
                {record.job_id, record.round, protocol::encode(record), hash, base.root, base.blob,
                 momentum.root, momentum.blob, number.get<std::uint64_t>(0), now_ms}));
    return get_round(tx, record.job_id, record.round);
}

Result<Round> get_round(db::Transaction& tx, const Digest& job_id, std::uint64_t round) {
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT * FROM registry.round WHERE job_id = $1 AND round = $2",
                             {job_id, round}));
    if (!row) return fail(ErrorCode::kNotFound, "there is no " + name_of(job_id, round));
    return to_round(*row);
}

Result<Round> get_round_of_epoch(db::Transaction& tx, std::uint64_t epoch) {
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT * FROM registry.round WHERE epoch = $1", {epoch}));
    if (!row) return fail(ErrorCode::kNotFound, "there is no epoch " + std::to_string(epoch));
    return to_round(*row);
}

Result<std::optional<RoundState>> find_round_state(db::Transaction& tx, const Digest& job_id,
                                                   std::uint64_t round) {
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT state FROM registry.round WHERE job_id = $1 AND round = $2",
                             {job_id, round}));
    if (!row) return std::optional<RoundState>();
    GYM_TRY(const RoundState state, parse_round_state(row->get<std::string>(0)));
    return std::optional(state);
}

Result<std::optional<Round>> find_round_by_record(db::Transaction& tx, const Digest& record_hash) {
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT * FROM registry.round WHERE record_hash = $1", {record_hash}));
    if (!row) return std::optional<Round>();
    GYM_TRY(Round round, to_round(*row));
    return std::optional<Round>(std::move(round));
}

/// A few that train alike from the same weights and data are no surprise.
constexpr std::size_t kJobsOfStateMax = 64;

Result<std::vector<Digest>> jobs_of_state(db::Transaction& tx, const Digest& state_root) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT DISTINCT job_id FROM registry.round WHERE next_base_root = $1 AND "
                    "next_base_root <> base_state_root ORDER BY job_id LIMIT $2",
                    {state_root, kJobsOfStateMax + 1}));
    if (rows.size() > kJobsOfStateMax)
        return fail(ErrorCode::kOutOfRange, "more than " + std::to_string(kJobsOfStateMax) +
                                                " jobs have trained the state " + state_root.hex());
    std::vector<Digest> out;
    out.reserve(rows.size());
    for (const db::Row row : rows)
        out.push_back(row.get<Digest>(0));
    return out;
}

Result<std::vector<Round>> list_rounds(db::Transaction& tx, const Digest& job_id) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT * FROM registry.round WHERE job_id = $1 ORDER BY round", {job_id}));
    return to_rounds(rows);
}

Result<std::vector<Round>> rounds_in_state(db::Transaction& tx, RoundState state) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT * FROM registry.round WHERE state = $1 AND state <> 'closed'",
                    {to_string(state)}));
    return to_rounds(rows);
}

Result<std::vector<Round>> open_rounds(db::Transaction& tx, const Digest& job_id) {
    GYM_TRY(const db::Rows rows, tx.exec("SELECT * FROM registry.round WHERE job_id = $1 AND state "
                                         "<> 'closed' ORDER BY round",
                                         {job_id}));
    return to_rounds(rows);
}

Result<std::vector<records::BaseStep>> steps_to_base(db::Transaction& tx, const Digest& job_id,
                                                     std::uint64_t round) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT base_state_blob, next_base_blob, CASE WHEN pruned_at_ms IS NULL OR "
                    "keeps_update THEN next_update_blob END FROM registry.round "
                    "WHERE job_id = $1 AND round < $2 ORDER BY round DESC LIMIT $3",
                    {job_id, round, records::kBaseStepsMax}));
    std::vector<records::BaseStep> out;
    for (const db::Row row : rows) {
        const auto base = row.get<Digest>(0);
        const auto update = row.get<std::optional<Digest>>(2);
        if (row.get<std::optional<Digest>>(1) == base) continue;  // a round without deltas
        if (!update) break;
        out.push_back({base, *update});
    }
    std::ranges::reverse(out);
    return out;
}

Result<std::optional<Round>> last_round(db::Transaction& tx, const Digest& job_id) {
    GYM_TRY(const auto row, tx.exec_optional("SELECT * FROM registry.round WHERE job_id = $1 ORDER "
                                             "BY round DESC LIMIT 1",
                                             {job_id}));
    if (!row) return std::optional<Round>();
    GYM_TRY(Round round, to_round(*row));
    return std::optional<Round>(std::move(round));
}

Result<std::optional<DrawnBeacon>> newest_beacon(db::Transaction& tx) {
    GYM_TRY(const auto row, tx.exec_optional("SELECT beacon, sealed_at_ms FROM registry.round "
                                             "WHERE beacon IS NOT NULL ORDER BY epoch DESC LIMIT 1",
                                             {}));
    if (!row) return std::optional<DrawnBeacon>();
    return std::optional(DrawnBeacon{row->get<Digest>("beacon"), row->get<UnixMs>("sealed_at_ms")});
}

Status open_round(db::Transaction& tx, const Digest& job_id, std::uint64_t round,
                  UnixMs unit_deadline_ms, UnixMs now_ms) {
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.round SET state = 'open', opened_at_ms = $3, "
                    "unit_deadline_ms = $4 WHERE job_id = $1 AND round = $2 AND state = 'recorded'",
                    {job_id, round, now_ms, unit_deadline_ms}));
    return expect_step(rows, job_id, round, "open");
}

Status seal_round(db::Transaction& tx, const Digest& job_id, std::uint64_t round,
                  const Digest& commitments_root, std::uint32_t count, UnixMs now_ms) {
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.round SET state = 'sealed', commitments_root = $3, "
                    "commitment_count = $4, sealed_at_ms = $5 "
                    "WHERE job_id = $1 AND round = $2 AND state = 'open'",
                    {job_id, round, commitments_root, count, now_ms}));
    return expect_step(rows, job_id, round, "sealed");
}

Status mark_posted(db::Transaction& tx, const Digest& job_id, std::uint64_t round,
                   std::uint64_t posted_block, const DrawnBy& by) {
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.round SET state = 'posted', posted_block = $3, beacon_block = "
                    "$4, drand_round = $5 WHERE job_id = $1 AND round = $2 AND state = 'sealed'",
                    {job_id, round, posted_block, by.block, by.drand_round}));
    return expect_step(rows, job_id, round, "posted");
}

Status set_beacon(db::Transaction& tx, const Digest& job_id, std::uint64_t round,
                  const Digest& beacon) {
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.round SET state = 'verifying', beacon = $3 "
                    "WHERE job_id = $1 AND round = $2 AND state = 'posted'",
                    {job_id, round, beacon}));
    return expect_step(rows, job_id, round, "verifying");
}

Status set_aggregated(db::Transaction& tx, const Digest& job_id, std::uint64_t round,
                      const AggregateOutcome& outcome, UnixMs now_ms) {
    GYM_TRY(const db::Rows rows, store_outcome(tx, job_id, round, "'aggregated'",
                                               "state = 'verifying'", outcome, now_ms));
    return expect_step(rows, job_id, round, "aggregated");
}

Status set_next_base(db::Transaction& tx, const Digest& job_id, std::uint64_t round,
                     const AggregateOutcome& outcome, UnixMs now_ms) {
    GYM_TRY(
        const db::Rows rows,
        store_outcome(tx, job_id, round, "state",
                      "state IN ('open', 'sealed', 'posted', 'verifying') AND next_base_root IS "
                      "NULL",
                      outcome, now_ms));
    if (rows.affected() == 1) return {};
    return fail(ErrorCode::kConflict, name_of(job_id, round) + " takes no next base state now");
}

Status mark_aggregated(db::Transaction& tx, const Digest& job_id, std::uint64_t round) {
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.round SET state = 'aggregated' WHERE job_id = $1 AND round = "
                    "$2 AND state = 'verifying' AND next_base_root IS NOT NULL",
                    {job_id, round}));
    return expect_step(rows, job_id, round, "aggregated");
}

Result<std::optional<Round>> round_to_evaluate(db::Transaction& tx, const Digest& job_id) {
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT * FROM registry.round WHERE job_id = $1 AND state = "
                             "'aggregated' AND validation_loss IS NULL ORDER BY round LIMIT 1",
                             {job_id}));
    if (!row) return std::optional<Round>();
    GYM_TRY(Round round, to_round(*row));
    return std::optional(std::move(round));
}

Status set_validation_loss(db::Transaction& tx, const Digest& job_id, std::uint64_t round,
                           double nats_per_token) {
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.round SET validation_loss = $3 WHERE job_id = $1 AND round = "
                    "$2 AND state = 'aggregated' AND validation_loss IS NULL",
                    {job_id, round, nats_per_token}));
    return expect_step(rows, job_id, round, "evaluated");
}

Status close_round(db::Transaction& tx, const Digest& job_id, std::uint64_t round, UnixMs now_ms) {
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.round r SET state = 'closed', closed_at_ms = $3 "
                    "WHERE job_id = $1 AND round = $2 AND state = 'aggregated' AND "
                    "validation_loss IS NOT NULL AND NOT EXISTS (SELECT FROM registry.unit u WHERE "
                    "u.job_id = r.job_id AND u.round = r.round "
                    "AND u.ended_at_ms IS NULL)",
                    {job_id, round, now_ms}));
    return expect_step(rows, job_id, round, "closed");
}

}  // namespace gym::registry
