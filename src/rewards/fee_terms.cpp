#include "credits.hpp"

namespace gym::rewards {

Status Accounting::publish_fee() {
    return database_.transact(
        [&](db::Transaction& transaction) -> Status {
            GYM_CHECK(transaction.exec(
                "INSERT INTO rewards.fee_terms (fee_ppm, burned_ppm, changed_at_ms) "
                "VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET fee_ppm = excluded.fee_ppm, "
                "burned_ppm = excluded.burned_ppm, changed_at_ms = excluded.changed_at_ms "
                "WHERE (rewards.fee_terms.fee_ppm, rewards.fee_terms.burned_ppm) "
                "IS DISTINCT FROM (excluded.fee_ppm, excluded.burned_ppm)",
                {config_.fees.fee_ppm, config_.fees.burned_ppm, clock_.now_ms()}));
            return {};
        },
        idempotent());
}

Result<PublishedFee> published_fee(db::Transaction& transaction) {
    GYM_TRY(const auto row,
            transaction.exec_optional(
                "SELECT fee_ppm, burned_ppm, changed_at_ms FROM rewards.fee_terms"));
    if (!row)
        return fail(ErrorCode::kNotFound, "gym-rewards has not said what fee this network takes");
    return PublishedFee{row->get<std::uint32_t>("fee_ppm"), row->get<std::uint32_t>("burned_ppm"),
                        row->get<UnixMs>("changed_at_ms")};
}

}  // namespace gym::rewards
