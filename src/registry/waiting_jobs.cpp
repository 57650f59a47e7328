#include "gym/registry/waiting_jobs.hpp"

#include "delta_bytes_row.hpp"
#include "worker_memory_row.hpp"

namespace gym::registry {

Result<std::vector<WaitingJob>> waiting_jobs(db::Transaction& tx, UnixMs now_ms,
                                             std::uint32_t limit) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT * FROM (SELECT j.id, coalesce(r.aggregated_at_ms, j.started_at_ms) AS "
                    "since_ms, j.unit_ms, j.slots_max, j.workers_min, j.parameters, "
                    "j.delta_bytes, j.worker_memory_bytes, j.worker_gpu_memory_bytes, "
                    "j.flops_per_step, j.price_wei_per_pflop, CASE WHEN j.adapt_steps THEN 1 ELSE "
                    "j.steps END AS steps "
                    "FROM registry.job j LEFT JOIN LATERAL (SELECT round, aggregated_at_ms FROM "
                    "registry.round WHERE job_id = j.id ORDER BY round DESC LIMIT 1) r ON true "
                    "WHERE j.status = 'running' AND coalesce(r.round, 0) < j.rounds "
                    "AND (r.round IS NULL OR r.aggregated_at_ms IS NOT NULL)) w "
                    "WHERE since_ms + unit_ms > $1 ORDER BY since_ms, id LIMIT $2",
                    {now_ms, limit}));
    std::vector<WaitingJob> out;
    out.reserve(rows.size());
    for (const db::Row row : rows)
        out.push_back({row.get<Digest>("id"),
                       row.get<UnixMs>("since_ms"),
                       row.get<std::int64_t>("unit_ms"),
                       row.get<std::uint32_t>("slots_max"),
                       row.get<std::uint32_t>("workers_min"),
                       delta_bytes_of(row),
                       worker_memory_of(row),
                       {row.get<std::uint64_t>("flops_per_step"), row.get<std::uint32_t>("steps"),
                        row.get<std::int64_t>("unit_ms")},
                       row.get<Amount>("price_wei_per_pflop")});
    return out;
}

}  // namespace gym::registry
