#include "gym/registry/challenges.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "columns.hpp"
#include "gym/common/ppm.hpp"

namespace gym::registry {
namespace {

/// One pass at a time, over all instances; whoever comes second has nothing to do.
constexpr std::string_view kTryLock =
    "SELECT pg_try_advisory_xact_lock(hashtext('gym.registry.challenges'), 0)";
/// The challenges of ($1, $2), nodes and the nonces that they answer.
constexpr std::string_view kAnswered =
    "SELECT c.node, c.nonce, c.issued_at_ms, c.deadline_ms, c.answered_at_ms, c.late_at_ms, "
    "c.withdrawn FROM unnest($1::bytea[], $2::bytea[]) AS a(node, nonce) "
    "JOIN registry.challenge c ON c.nonce = a.nonce AND c.node = a.node ";

protocol::UptimeChallenge to_challenge(const db::Row& row) {
    return {row.get<Digest>("nonce"), row.get<UnixMs>("issued_at_ms"),
            row.get<UnixMs>("deadline_ms")};
}

/// Notes this pass. @return when the one before was; nothing for the first.
Result<std::optional<UnixMs>> note_pass(db::Transaction& tx, UnixMs now_ms) {
    GYM_TRY(const auto before, tx.exec_optional("SELECT at_ms FROM registry.challenge_pass"));
    GYM_CHECK(
        tx.exec("INSERT INTO registry.challenge_pass (at_ms) VALUES ($1) "
                "ON CONFLICT (id) DO UPDATE SET at_ms = excluded.at_ms",
                {now_ms}));
    if (!before) return std::optional<UnixMs>();
    return std::optional(before->get<UnixMs>(0));
}

Status withdraw_open(db::Transaction& tx, UnixMs silent_since_ms) {
    GYM_CHECK(
        tx.exec("UPDATE registry.challenge SET withdrawn = true WHERE answered_at_ms IS NULL "
                "AND NOT withdrawn AND deadline_ms >= $1",
                {silent_since_ms}));
    return {};
}

struct Due {
    Address node;
    bool has_moment = false;  ///< and it has come; else the node is new here
};

Result<std::vector<Due>> read_due(db::Transaction& tx, const ChallengePolicy& policy,
                                  UnixMs now_ms) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT n.address, s.next_at_ms IS NOT NULL AS has_moment "
                    "FROM registry.node n LEFT JOIN registry.challenge_schedule s "
                    "ON s.node = n.address WHERE n.excluded_at_ms IS NULL "
                    "AND n.last_seen_at_ms >= $1 AND coalesce(s.next_at_ms, $2) <= $2 "
                    "ORDER BY s.next_at_ms NULLS FIRST, n.address LIMIT $3",
                    {now_ms - policy.unseen_ms, now_ms, policy.batch_max}));
    std::vector<Due> due;
    for (const db::Row row : rows)
        due.push_back({row.get<Address>("address"), row.get<bool>("has_moment")});
    return due;
}

struct Asked {
    Address node;
    Digest nonce;
};

Status insert_challenges(db::Transaction& tx, std::span<const Asked> asked, UnixMs now_ms,
                         UnixMs deadline_ms) {
    if (asked.empty()) return {};
    GYM_CHECK(
        tx.exec("INSERT INTO registry.challenge (node, nonce, issued_at_ms, deadline_ms) "
                "SELECT node, nonce, $3, $4 FROM unnest($1::bytea[], $2::bytea[]) AS "
                "a(node, nonce)",
                {column_of(asked, [](const Asked& a) { return a.node; }),
                 column_of(asked, [](const Asked& a) { return a.nonce; }), now_ms, deadline_ms}));
    return {};
}

/// The next moment of each node.
Status draw_moments(db::Transaction& tx, std::span<const Due> due, const ChallengeDice& dice,
                    UnixMs now_ms) {
    if (due.empty()) return {};
    const auto next = [&](const Due&) {
        return now_ms + std::max<std::int64_t>(dice.wait_ms(), 1);
    };
    GYM_CHECK(
        tx.exec("INSERT INTO registry.challenge_schedule (node, next_at_ms) SELECT node, "
                "next_at_ms FROM unnest($1::bytea[], $2::bigint[]) AS d(node, next_at_ms) "
                "ON CONFLICT (node) DO UPDATE SET next_at_ms = excluded.next_at_ms",
                {column_of(due, [](const Due& d) { return d.node; }), column_of(due, next)}));
    return {};
}

db::Param nodes_of(std::span<const ArrivedAnswer> answers) {
    return column_of(answers, [](const ArrivedAnswer& a) { return a.node; });
}
db::Param nonces_of(std::span<const ArrivedAnswer> answers) {
    return column_of(answers, [](const ArrivedAnswer& a) { return a.answer.nonce; });
}

}  // namespace

Result<std::uint32_t> issue_challenges(db::Transaction& tx, const ChallengePolicy& policy,
                                       const ChallengeDice& dice, UnixMs now_ms) {
    GYM_TRY(const db::Row lock, tx.exec_one(kTryLock));
    if (!lock.get<bool>(0)) return 0U;
    GYM_TRY(const auto last_pass, note_pass(tx, now_ms));
    const bool was_silent = last_pass && now_ms - *last_pass > policy.silence_ms;
    if (was_silent) GYM_CHECK(withdraw_open(tx, *last_pass));
    GYM_TRY(const auto due, read_due(tx, policy, now_ms));
    std::vector<Asked> asked;
    for (const auto& [node, has_moment] : due)
        if (has_moment && !was_silent) asked.push_back({node, dice.nonce()});
    GYM_CHECK(insert_challenges(tx, asked, now_ms, now_ms + policy.answer_ms));
    GYM_CHECK(draw_moments(tx, due, dice, now_ms));
    return static_cast<std::uint32_t>(asked.size());
}

Result<std::map<Address, protocol::UptimeChallenge>> open_challenges(
    db::Transaction& tx, std::span<const Sighting> sightings) {
    const auto column = [&](const auto& value) { return column_of(sightings, value); };
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT DISTINCT ON (c.node) c.node, c.nonce, c.issued_at_ms, c.deadline_ms "
                    "FROM unnest($1::bytea[], $2::bigint[]) AS s(node, at_ms) "
                    "JOIN registry.challenge c ON c.node = s.node AND c.deadline_ms >= s.at_ms "
                    "WHERE c.answered_at_ms IS NULL AND NOT c.withdrawn "
                    "ORDER BY c.node, c.deadline_ms, c.nonce",
                    {column([](const Sighting& s) { return s.node; }),
                     column([](const Sighting& s) { return s.at_ms; })}));
    std::map<Address, protocol::UptimeChallenge> out;
    for (const db::Row row : rows)
        out.emplace(row.get<Address>("node"), to_challenge(row));
    return out;
}

Result<std::map<Digest, protocol::UptimeChallenge>> find_challenges(
    db::Transaction& tx, std::span<const ArrivedAnswer> answers) {
    GYM_TRY(const db::Rows rows,
            tx.exec(std::string(kAnswered), {nodes_of(answers), nonces_of(answers)}));
    std::map<Digest, protocol::UptimeChallenge> out;
    for (const db::Row row : rows)
        out.emplace(row.get<Digest>("nonce"), to_challenge(row));
    return out;
}

namespace {

/// What an answer means for its challenge. A second answer of the same call batch is a repetition.
AnswerOutcome judge(const db::Row& row, bool counted_now, UnixMs at_ms) {
    if (counted_now || row.get<std::optional<UnixMs>>("answered_at_ms"))
        return AnswerOutcome::kRepeated;
    if (row.get<bool>("withdrawn")) return AnswerOutcome::kWithdrawn;
    if (row.get<std::optional<UnixMs>>("late_at_ms") || at_ms > row.get<UnixMs>("deadline_ms"))
        return AnswerOutcome::kLate;
    return AnswerOutcome::kCounted;
}

Status write_counted(db::Transaction& tx, std::span<const ArrivedAnswer> answers) {
    if (answers.empty()) return {};
    // Another instance's clock may be behind the one that asked.
    GYM_CHECK(tx.exec(
        "UPDATE registry.challenge c SET answered_at_ms = greatest(c.issued_at_ms, a.at_ms), "
        "signature = a.signature FROM unnest($1::bytea[], $2::bigint[], $3::bytea[]) AS "
        "a(nonce, at_ms, signature) WHERE c.nonce = a.nonce",
        {nonces_of(answers), column_of(answers, [](const ArrivedAnswer& a) { return a.at_ms; }),
         column_of(answers, [](const ArrivedAnswer& a) { return a.answer.signature; })}));
    return {};
}

/// The first answer that came too late, for people.
Status write_late(db::Transaction& tx, std::span<const ArrivedAnswer> answers) {
    if (answers.empty()) return {};
    GYM_CHECK(tx.exec(
        "UPDATE registry.challenge c SET late_at_ms = a.at_ms FROM (SELECT nonce, min(at_ms) AS "
        "at_ms FROM unnest($1::bytea[], $2::bigint[]) AS a(nonce, at_ms) GROUP BY nonce) a "
        "WHERE c.nonce = a.nonce AND c.late_at_ms IS NULL",
        {nonces_of(answers), column_of(answers, [](const ArrivedAnswer& a) { return a.at_ms; })}));
    return {};
}

}  // namespace

Result<std::vector<AnswerOutcome>> answer_challenges(db::Transaction& tx,
                                                     std::span<const ArrivedAnswer> answers) {
    GYM_TRY(const db::Rows rows,
            tx.exec(std::string(kAnswered) + "ORDER BY c.nonce FOR UPDATE OF c",
                    {nodes_of(answers), nonces_of(answers)}));
    std::map<Digest, db::Row> known;
    for (const db::Row row : rows)
        known.emplace(row.get<Digest>("nonce"), row);
    std::vector<AnswerOutcome> out;
    std::vector<ArrivedAnswer> counted, late;
    std::set<Digest> counted_nonces;
    for (const ArrivedAnswer& arrived : answers) {
        const auto row = known.find(arrived.answer.nonce);
        if (row == known.end() || row->second.get<Address>("node") != arrived.node) {
            out.push_back(AnswerOutcome::kUnknown);
            continue;
        }
        const bool counted_now = counted_nonces.contains(arrived.answer.nonce);
        out.push_back(judge(row->second, counted_now, arrived.at_ms));
        if (out.back() == AnswerOutcome::kLate) late.push_back(arrived);
        if (out.back() != AnswerOutcome::kCounted) continue;
        counted.push_back(arrived);
        counted_nonces.insert(arrived.answer.nonce);
    }
    GYM_CHECK(write_counted(tx, counted));
    GYM_CHECK(write_late(tx, late));
    return out;
}

std::uint32_t Uptime::ppm() const noexcept {
    if (issued == 0) return 0;
    return static_cast<std::uint32_t>(std::min(answered, issued) * kPpm / issued);
}

Result<Uptime> uptime(db::Transaction& tx, const Address& node, UnixMs from_ms, UnixMs to_ms) {
    GYM_CHECK(get_node(tx, node));
    GYM_TRY(const db::Row row,
            tx.exec_one("SELECT count(answered_at_ms) AS answered, count(*) AS issued, "
                        "count(late_at_ms) AS late FROM registry.challenge WHERE node = $1 "
                        "AND issued_at_ms >= $2 AND deadline_ms < $3 AND NOT withdrawn",
                        {node, from_ms, to_ms}));
    return Uptime{row.get<std::uint64_t>("answered"), row.get<std::uint64_t>("issued"),
                  row.get<std::uint64_t>("late")};
}

Status prune_challenges(db::Transaction& tx, UnixMs before_ms) {
    GYM_CHECK(tx.exec("DELETE FROM registry.challenge WHERE issued_at_ms < $1", {before_ms}));
    return {};
}

}  // namespace gym::registry
