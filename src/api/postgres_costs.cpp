#include <algorithm>

#include "gym/api/postgres.hpp"
#include "gym/registry/cost_terms.hpp"
#include "postgres_calls.hpp"

// What jobs cost, and what they can cost at the most.
namespace gym::api {
namespace calls {

Result<std::optional<protocol::CostRates>> cost_rates(db::Transaction& tx,
                                                      const rewards::PublishedFee& fee) {
    GYM_TRY(auto rates, registry::published_cost_rates(tx));
    if (!fee.verification_premium_ppm || !fee.uptime_bonus_max_ppm) rates.reset();
    if (!rates) return rates;
    // Two services have a configuration each: a bound holds whichever takes more.
    rates->fee_ppm = std::max(rates->fee_ppm, fee.fee_ppm);
    rates->cost_bound_ppm = std::max(
        rates->cost_bound_ppm,
        protocol::cost_of_compute_ppm(*fee.verification_premium_ppm, *fee.uptime_bonus_max_ppm,
                                      rates->fee_ppm));
    return rates;
}

Result<std::optional<protocol::CostRates>> cost_rates(db::Transaction& tx) {
    const auto fee = rewards::published_fee(tx);
    if (fee.ok()) return cost_rates(tx, *fee);
    if (fee.error().code == ErrorCode::kNotFound) return std::optional<protocol::CostRates>();
    return fee.error();
}

}  // namespace calls

Result<NetworkTerms> PostgresBackend::terms() {
    return calls::read(database_, options_, [&](db::Transaction& tx) -> Result<NetworkTerms> {
        NetworkTerms out;
        GYM_TRY(out.fee, rewards::published_fee(tx));
        GYM_TRY(out.bound, calls::cost_rates(tx, out.fee));
        return out;
    });
}

}  // namespace gym::api
