#include "gym/registry/blob_access.hpp"

#include <string>
#include <string_view>

namespace gym::registry {
namespace {

/// Whether a blob is everybody's. Parameter 1: the blob.
constexpr std::string_view kIsPublic =
    "WITH model AS MATERIALIZED (SELECT j.id, j.visibility FROM registry.model_jobs($1::bytea) m "
    "JOIN registry.job j ON j.id = m), "
    "text AS MATERIALIZED (SELECT d.root, d.visibility = 'public' AND d.price_wei_per_mtoken = 0 "
    "AND NOT EXISTS (SELECT FROM registry.dataset_part p JOIN registry.dataset q ON q.root = "
    "p.part "
    "WHERE p.mix = d.root AND (q.visibility <> 'public' OR q.price_wei_per_mtoken <> 0)) "
    "AS is_public FROM registry.dataset d WHERE d.blob = $1::bytea) "
    "SELECT EXISTS (SELECT FROM model WHERE visibility = 'public') "
    "OR EXISTS (SELECT FROM text WHERE is_public)";
/// Follows it. Parameters 2 and 3: node, time.
constexpr std::string_view kOrHasTask =
    " OR EXISTS (SELECT FROM registry.tasks_of($2::bytea, $3::bigint) t "
    "JOIN registry.unit u ON u.id = t JOIN registry.job j ON j.id = u.job_id "
    "WHERE j.id IN (SELECT id FROM model) OR j.dataset_root IN (SELECT root FROM text))";

}  // namespace

Result<bool> may_fetch_blob(db::Transaction& tx, const Address& node, const Digest& blob,
                            UnixMs tasks_since_ms) {
    GYM_TRY(const db::Row row,
            tx.exec_one(std::string(kIsPublic).append(kOrHasTask), {blob, node, tasks_since_ms}));
    return row.get<bool>(0);
}

Result<bool> is_public_blob(db::Transaction& tx, const Digest& blob) {
    GYM_TRY(const db::Row row, tx.exec_one(kIsPublic, {blob}));
    return row.get<bool>(0);
}

Status count_refused_blob(db::Transaction& tx, const Address& node) {
    GYM_CHECK(tx.exec(
        "UPDATE registry.node SET refused_blobs = refused_blobs + 1 WHERE address = $1", {node}));
    return {};
}

Status note_upload(db::Transaction& tx, const Address& worker, const Digest& root, UnixMs now_ms) {
    GYM_CHECK(
        tx.exec("INSERT INTO registry.delta_upload (worker, root, at_ms) "
                "SELECT n.address, $2, $3 FROM registry.node n WHERE n.address = $1 "
                "ON CONFLICT (worker, root) DO UPDATE SET at_ms = excluded.at_ms",
                {worker, root, now_ms}));
    GYM_CHECK(
        tx.exec("DELETE FROM registry.delta_upload WHERE worker = $1 AND root NOT IN (SELECT "
                "root FROM registry.delta_upload WHERE worker = $1 ORDER BY at_ms DESC, root "
                "LIMIT $2)",
                {worker, kUploadsKept}));
    return {};
}

Result<bool> has_uploaded(db::Transaction& tx, const Address& worker, const Digest& root) {
    GYM_TRY(const db::Row row, tx.exec_one("SELECT EXISTS (SELECT FROM registry.delta_upload "
                                           "WHERE worker = $1 AND root = $2)",
                                           {worker, root}));
    return row.get<bool>(0);
}

}  // namespace gym::registry
