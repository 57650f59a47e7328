#include "gym/registry/cost_terms.hpp"

namespace gym::registry {

Status publish_cost_rates(db::Transaction& tx, const protocol::CostRates& rates, UnixMs now_ms) {
    GYM_CHECK(
        tx.exec("INSERT INTO registry.cost_rates (cost_bound_ppm, fee_ppm, changed_at_ms) "
                "VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET cost_bound_ppm = "
                "excluded.cost_bound_ppm, fee_ppm = excluded.fee_ppm, changed_at_ms = "
                "excluded.changed_at_ms WHERE (registry.cost_rates.cost_bound_ppm, "
                "registry.cost_rates.fee_ppm) IS DISTINCT FROM (excluded.cost_bound_ppm, "
                "excluded.fee_ppm)",
                {rates.cost_bound_ppm, rates.fee_ppm, now_ms}));
    return {};
}

Result<std::optional<protocol::CostRates>> published_cost_rates(db::Transaction& tx) {
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT cost_bound_ppm, fee_ppm FROM registry.cost_rates"));
    if (!row) return std::optional<protocol::CostRates>();
    return std::optional(protocol::CostRates{row->get<std::uint64_t>("cost_bound_ppm"),
                                             row->get<std::uint32_t>("fee_ppm")});
}

protocol::WorkPrice work_price(const Job& job) {
    return {job.terms.price_wei_per_pflop, job.artifacts->flops_per_step,
            job.artifacts->tokens_per_step, job.data_price_wei_per_mtoken, job.data_quality_ppm};
}

Result<protocol::Work> billable_work(db::Transaction& tx, const Digest& job_id,
                                     const std::optional<std::vector<std::uint64_t>>& rounds) {
    GYM_TRY(const db::Row row,
            tx.exec_one(
                "SELECT coalesce(sum(CASE WHEN u.state = 'assigned' THEN "
                "j.flops_per_step::numeric * j.steps WHEN u.state = 'expired' THEN "
                "j.flops_per_step::numeric * x.steps ELSE u.flops END) FILTER (WHERE "
                "u.kind = 'train' AND u.state NOT IN ('rejected', 'slashed', 'unpaid', 'void') AND "
                "(u.state <> 'expired' OR x.state IN ('kept', 'drawn', 'reported', 'verified'))), "
                "0) AS training, "
                "coalesce(sum(u.flops) FILTER (WHERE CASE WHEN u.kind = 'train' THEN u.accepted "
                "AND u.state <> 'final' ELSE u.accepted OR u.ended_at_ms IS NULL END), 0) + "
                "coalesce(sum(x.flops) FILTER (WHERE x.state = 'refuted'), 0) AS "
                "reports FROM (SELECT u.*, EXISTS (SELECT FROM registry.report p WHERE "
                "p.unit_id = u.id AND p.accepted_seq IS NOT NULL) AS accepted FROM registry.unit u "
                "WHERE u.job_id = $1 AND ($2::bigint[] IS NULL OR u.round = ANY ($2::bigint[]))) u "
                "JOIN registry.job j ON j.id = u.job_id LEFT JOIN registry.unit_prefix x ON "
                "x.unit_id = u.id",
                {job_id, rounds ? db::Param::array(*rounds) : db::Param(std::nullopt)}));
    return protocol::Work{row.get<Amount>("training"), row.get<Amount>("reports")};
}

Result<Amount> aggregate_flops_max(db::Transaction& tx, const Digest& job_id) {
    GYM_TRY(const db::Row row, tx.exec_one("SELECT coalesce(max(flops), 0) FROM registry.unit "
                                           "WHERE job_id = $1 AND kind = 'aggregate'",
                                           {job_id}));
    return row.get<Amount>(0);
}

Result<std::uint64_t> rounds_to_evaluate(db::Transaction& tx, const Digest& job_id) {
    GYM_TRY(const db::Row row, tx.exec_one("SELECT count(*) FROM registry.round WHERE job_id = $1 "
                                           "AND validation_loss IS NULL",
                                           {job_id}));
    return row.get<std::uint64_t>(0);
}

}  // namespace gym::registry
