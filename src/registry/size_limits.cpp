#include "gym/registry/size_limits.hpp"

namespace gym::registry {

Status publish_size_limits(db::Transaction& tx, const protocol::SizeLimits& limits, UnixMs now_ms) {
    GYM_CHECK(
        tx.exec("INSERT INTO registry.size_limits (blob_bytes_max, deltas_bytes_max, "
                "changed_at_ms) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET "
                "blob_bytes_max = excluded.blob_bytes_max, deltas_bytes_max = "
                "excluded.deltas_bytes_max, changed_at_ms = excluded.changed_at_ms WHERE "
                "(registry.size_limits.blob_bytes_max, registry.size_limits.deltas_bytes_max) "
                "IS DISTINCT FROM (excluded.blob_bytes_max, excluded.deltas_bytes_max)",
                {limits.blob_bytes, limits.deltas_bytes, now_ms}));
    return {};
}

Result<std::optional<protocol::SizeLimits>> published_size_limits(db::Transaction& tx) {
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT blob_bytes_max, deltas_bytes_max FROM registry.size_limits"));
    if (!row) return std::optional<protocol::SizeLimits>();
    return std::optional(protocol::SizeLimits{row->get<std::uint64_t>("blob_bytes_max"),
                                              row->get<std::uint64_t>("deltas_bytes_max")});
}

Status publish_dispute_window(db::Transaction& tx, std::int64_t window_ms, UnixMs now_ms) {
    GYM_CHECK(
        tx.exec("INSERT INTO registry.dispute_window (window_ms, changed_at_ms) VALUES "
                "($1, $2) ON CONFLICT (id) DO UPDATE SET window_ms = excluded.window_ms, "
                "changed_at_ms = excluded.changed_at_ms WHERE "
                "registry.dispute_window.window_ms <> excluded.window_ms",
                {window_ms, now_ms}));
    return {};
}

Result<std::optional<std::int64_t>> published_dispute_window(db::Transaction& tx) {
    GYM_TRY(const auto row, tx.exec_optional("SELECT window_ms FROM registry.dispute_window"));
    if (!row) return std::optional<std::int64_t>();
    return std::optional(row->get<std::int64_t>("window_ms"));
}

}  // namespace gym::registry
