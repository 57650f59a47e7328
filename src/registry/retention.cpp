#include "gym/registry/retention.hpp"

#include <algorithm>

#include "columns.hpp"

namespace gym::registry {
namespace {

/// Whether a game about a unit of round `r` may be opened or is open: one of its workers is in a
/// game from within the window behind `block`. Parameters 4 to 6: contract or null, the block that
/// was read, window.
std::string held_by_games(const std::string& r, const std::string& block) {
    return "($4::bytea IS NOT NULL AND (" + block + " IS NULL OR $5::bigint <= " + block +
           " + $6::bigint OR EXISTS (SELECT FROM registry.disputed_unit d JOIN registry.unit u ON "
           "u.worker = d.asserter AND u.job_id = " +
           r + ".job_id AND u.round = " + r +
           ".round WHERE d.contract = $4 AND d.open_games > 0 AND (d.opened_block IS NULL OR "
           "d.opened_block <= " +
           block + " + $6::bigint))))";
}

struct Place {
    Digest job_id;
    std::uint64_t round = 0;
};

/// The pruned round that a blob was a part of, of several the newest.
Result<std::optional<Place>> find_pruned(db::Transaction& tx, const Digest& root) {
    GYM_TRY(const auto row,
            tx.exec_optional(
                "SELECT job_id, round FROM (SELECT n.job_id, n.round, n.pruned_at_ms FROM "
                "registry.round n WHERE ARRAY[n.base_state_blob::bytea, n.momentum_blob::bytea, "
                "n.next_base_blob::bytea, n.next_momentum_blob::bytea, "
                "n.aggregate_program_blob::bytea] @> ARRAY[$1::bytea] UNION ALL "
                "SELECT n.job_id, n.round, n.pruned_at_ms FROM registry.round n "
                "WHERE n.next_update_blob = $1 UNION ALL "
                "SELECT n.job_id, n.round, n.pruned_at_ms FROM registry.unit u JOIN registry.round "
                "n ON n.job_id = u.job_id AND n.round = u.round WHERE u.delta_root = $1) x "
                "WHERE pruned_at_ms IS NOT NULL ORDER BY pruned_at_ms DESC, round DESC LIMIT 1",
                {root}));
    if (!row) return std::optional<Place>();
    return std::optional(Place{row->get<Digest>(0), row->get<std::uint64_t>(1)});
}

}  // namespace

Result<std::vector<PrunedRound>> prune_rounds(db::Transaction& tx, const Retention& retention,
                                              const std::optional<GameWatch>& games, UnixMs now_ms,
                                              std::uint32_t limit) {
    std::optional<Address> contract;
    if (games) contract = games->contract;
    const std::string condition =
        "r.pruned_at_ms IS NULL AND r.state = 'closed' AND (j.ended_at_ms IS NOT NULL OR r.round + "
        "$2::bigint <= (SELECT max(l.round) FROM registry.round l WHERE l.job_id = r.job_id)) "
        "AND CASE WHEN s.round IS NULL THEN j.ended_at_ms IS NOT NULL ELSE s.state = 'closed' AND "
        "NOT " +
        held_by_games("s", "greatest(s.posted_block, s.aggregate_block)") + " END AND NOT " +
        // A unit that was committed late is in the next round's epoch.
        held_by_games("r", "greatest(coalesce(s.posted_block, r.posted_block), r.aggregate_block)");
    GYM_TRY(
        const db::Rows rows,
        tx.exec("UPDATE registry.round n SET pruned_at_ms = $3, "
                "keeps_state = x.is_last OR ($1::bigint > 0 AND n.round % greatest($1::bigint, 1) "
                "= 0), keeps_update = n.next_update_blob IS NOT NULL AND $1::bigint > 0 "
                "FROM (SELECT r.job_id, r.round, s.round IS NULL AS is_last FROM registry.round r "
                "JOIN registry.job j ON j.id = r.job_id LEFT JOIN registry.round s ON s.job_id = "
                "r.job_id AND s.round = r.round + 1 WHERE " +
                    condition +
                    " ORDER BY r.job_id, r.round LIMIT $7) x WHERE n.job_id = x.job_id AND n.round "
                    "= x.round RETURNING n.job_id, n.round, n.keeps_state",
                {retention.base_every, retention.keep_rounds, now_ms, contract,
                 games ? games->seen_block : 0, games ? games->window_blocks : 0, limit}));
    std::vector<PrunedRound> out;
    for (const db::Row row : rows)
        out.push_back({row.get<Digest>(0), row.get<std::uint64_t>(1), row.get<bool>(2)});
    return out;
}

Result<std::set<Digest>> named_blobs(db::Transaction& tx, std::span<const Digest> roots) {
    std::set<Digest> out;
    if (roots.empty()) return out;
    const db::Param all = column_of(roots, [](const Digest& root) { return root; });
    GYM_TRY(const db::Rows rows, tx.exec("SELECT registry.named_blobs($1::bytea[])", {all}));
    for (const db::Row row : rows)
        out.insert(row.get<Digest>(0));
    return out;
}

Status forget_uploads(db::Transaction& tx, std::span<const Digest> roots, UnixMs before_ms) {
    if (roots.empty()) return {};
    const db::Param all = column_of(roots, [](const Digest& root) { return root; });
    GYM_CHECK(
        tx.exec("DELETE FROM registry.delta_upload WHERE root = ANY($1::bytea[]) AND at_ms < "
                "$2",
                {all, before_ms}));
    GYM_CHECK(
        tx.exec("DELETE FROM registry.delta_place WHERE root = ANY($1::bytea[]) AND "
                "named_at_ms < $2",
                {all, before_ms}));
    return {};
}

Result<std::vector<std::uint64_t>> kept_rounds(db::Transaction& tx, const Digest& job_id) {
    // A round without deltas ends in the state that it began from: it is there if that one is.
    GYM_TRY(const db::Rows rows,
            tx.exec("WITH kept AS MATERIALIZED (SELECT next_base_blob AS blob FROM registry.round "
                    "WHERE job_id = $1 AND next_base_blob IS NOT NULL AND (pruned_at_ms IS NULL OR "
                    "keeps_state) UNION SELECT base_state_blob FROM registry.round WHERE job_id = "
                    "$1 AND pruned_at_ms IS NULL UNION SELECT base_state_blob FROM registry.job "
                    "WHERE id = $1 AND base_state_blob IS NOT NULL) "
                    "SELECT 0::bigint AS round FROM registry.job WHERE id = $1 AND base_state_blob "
                    "IS NOT NULL UNION SELECT round FROM registry.round WHERE job_id = $1 AND "
                    "next_base_blob IN (SELECT blob FROM kept) ORDER BY round",
                    {job_id}));
    std::vector<std::uint64_t> out;
    for (const db::Row row : rows)
        out.push_back(row.get<std::uint64_t>(0));
    return out;
}

Result<std::optional<std::string>> why_pruned(db::Transaction& tx, const Digest& root) {
    GYM_TRY(const auto place, find_pruned(tx, root));
    if (!place) return std::optional<std::string>();
    GYM_TRY(const auto kept, kept_rounds(tx, place->job_id));
    return std::optional(
        "blob " + root.hex() + " of round " + std::to_string(place->round) + " of job " +
        place->job_id.hex() +
        " was pruned when the round was final; the weights that are kept are those "
        "after rounds " +
        list_of_rounds(kept) + " (0: before any training)");
}

std::string list_of_rounds(std::span<const std::uint64_t> rounds, std::size_t spans_max) {
    std::vector<std::string> spans;
    for (std::size_t i = 0; i < rounds.size();) {
        std::size_t last = i;
        while (last + 1 < rounds.size() && rounds[last + 1] == rounds[last] + 1)
            ++last;
        std::string text = std::to_string(rounds[i]);
        if (last > i) text += (last == i + 1 ? ", " : " to ") + std::to_string(rounds[last]);
        spans.push_back(std::move(text));
        i = last + 1;
    }
    if (spans.empty()) return "none";
    const std::size_t from = spans.size() - std::min(spans.size(), spans_max);
    std::string out = from > 0 ? "..." : "";
    for (std::size_t i = from; i < spans.size(); ++i)
        out += (out.empty() ? "" : ", ") + spans[i];
    return out;
}

}  // namespace gym::registry
