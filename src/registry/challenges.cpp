#include "gym/registry/challenges.hpp"

#include <algorithm>
#include <vector>

#include "gym/common/ppm.hpp"
#include "gym/registry/nodes.hpp"

namespace gym::registry {
namespace {

/// One pass at a time, over all instances; whoever comes second has nothing to do.
constexpr std::string_view kTryLock =
    "SELECT pg_try_advisory_xact_lock(hashtext('gym.registry.challenges'), 0)";
constexpr std::string_view kChallengeSelect =
    "SELECT nonce, issued_at_ms, deadline_ms, answered_at_ms, late_at_ms, withdrawn FROM "
    "registry.challenge ";

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

}  // namespace

Result<std::uint32_t> issue_challenges(db::Transaction& tx, const ChallengePolicy& policy,
                                       const ChallengeDice& dice, UnixMs now_ms) {
    GYM_TRY(const db::Row lock, tx.exec_one(kTryLock));
    if (!lock.get<bool>(0)) return 0U;
    GYM_TRY(const auto last_pass, note_pass(tx, now_ms));
    const bool was_silent = last_pass && now_ms - *last_pass > policy.silence_ms;
    if (was_silent) GYM_CHECK(withdraw_open(tx, *last_pass));
    GYM_TRY(const auto due, read_due(tx, policy, now_ms));
    std::uint32_t issued = 0;
    for (const auto& [node, has_moment] : due) {
        if (has_moment && !was_silent) {
            GYM_CHECK(
                tx.exec("INSERT INTO registry.challenge (node, nonce, issued_at_ms, "
                        "deadline_ms) VALUES ($1, $2, $3, $4)",
                        {node, dice.nonce(), now_ms, now_ms + policy.answer_ms}));
            ++issued;
        }
        GYM_CHECK(
            tx.exec("INSERT INTO registry.challenge_schedule (node, next_at_ms) "
                    "VALUES ($1, $2) ON CONFLICT (node) DO UPDATE "
                    "SET next_at_ms = excluded.next_at_ms",
                    {node, now_ms + std::max<std::int64_t>(dice.wait_ms(), 1)}));
    }
    return issued;
}

Result<std::optional<protocol::UptimeChallenge>> open_challenge(db::Transaction& tx,
                                                                const Address& node,
                                                                UnixMs now_ms) {
    GYM_TRY(const auto row,
            tx.exec_optional(std::string(kChallengeSelect) +
                                 "WHERE node = $1 AND answered_at_ms IS NULL AND NOT withdrawn "
                                 "AND deadline_ms >= $2 ORDER BY deadline_ms, nonce LIMIT 1",
                             {node, now_ms}));
    if (!row) return std::optional<protocol::UptimeChallenge>();
    return std::optional(to_challenge(*row));
}

Result<std::optional<protocol::UptimeChallenge>> find_challenge(db::Transaction& tx,
                                                                const Address& node,
                                                                const Digest& nonce) {
    GYM_TRY(const auto row,
            tx.exec_optional(std::string(kChallengeSelect) + "WHERE node = $1 AND nonce = $2",
                             {node, nonce}));
    if (!row) return std::optional<protocol::UptimeChallenge>();
    return std::optional(to_challenge(*row));
}

Result<AnswerOutcome> answer_challenge(db::Transaction& tx, const Address& node,
                                       const protocol::UptimeAnswer& answer, UnixMs now_ms) {
    GYM_TRY(const auto row, tx.exec_optional(std::string(kChallengeSelect) +
                                                 "WHERE node = $1 AND nonce = $2 FOR UPDATE",
                                             {node, answer.nonce}));
    if (!row) return AnswerOutcome::kUnknown;
    if (row->get<std::optional<UnixMs>>("answered_at_ms")) return AnswerOutcome::kRepeated;
    if (row->get<bool>("withdrawn")) return AnswerOutcome::kWithdrawn;
    if (row->get<std::optional<UnixMs>>("late_at_ms")) return AnswerOutcome::kLate;
    if (now_ms > row->get<UnixMs>("deadline_ms")) {
        GYM_CHECK(tx.exec("UPDATE registry.challenge SET late_at_ms = $2 WHERE nonce = $1",
                          {answer.nonce, now_ms}));
        return AnswerOutcome::kLate;
    }
    // Another instance's clock may be behind the one that asked.
    GYM_CHECK(
        tx.exec("UPDATE registry.challenge SET answered_at_ms = greatest(issued_at_ms, $2), "
                "signature = $3 WHERE nonce = $1",
                {answer.nonce, now_ms, answer.signature}));
    return AnswerOutcome::kCounted;
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
