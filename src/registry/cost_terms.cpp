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

}  // namespace gym::registry
