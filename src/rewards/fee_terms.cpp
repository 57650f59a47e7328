#include "credits.hpp"

namespace gym::rewards {

Status Accounting::publish_fee() {
    return database_.transact(
        [&](db::Transaction& transaction) -> Status {
            GYM_CHECK(transaction.exec(
                "INSERT INTO rewards.fee_terms AS t (fee_ppm, burned_ppm, changed_at_ms, "
                "verification_premium_ppm, uptime_bonus_max_ppm) VALUES ($1, $2, $3, $4, $5) "
                "ON CONFLICT (id) DO UPDATE SET fee_ppm = excluded.fee_ppm, "
                "burned_ppm = excluded.burned_ppm, changed_at_ms = excluded.changed_at_ms, "
                "verification_premium_ppm = excluded.verification_premium_ppm, "
                "uptime_bonus_max_ppm = excluded.uptime_bonus_max_ppm "
                "WHERE (t.fee_ppm, t.burned_ppm, t.verification_premium_ppm, "
                "t.uptime_bonus_max_ppm) IS DISTINCT FROM (excluded.fee_ppm, excluded.burned_ppm, "
                "excluded.verification_premium_ppm, excluded.uptime_bonus_max_ppm)",
                {config_.fees.fee_ppm, config_.fees.burned_ppm, clock_.now_ms(),
                 config_.verification_premium_ppm, config_.uptime_bonus_max_ppm}));
            return {};
        },
        idempotent());
}

Result<PublishedFee> published_fee(db::Transaction& transaction) {
    GYM_TRY(const auto row,
            transaction.exec_optional("SELECT fee_ppm, burned_ppm, changed_at_ms, "
                                      "verification_premium_ppm, uptime_bonus_max_ppm "
                                      "FROM rewards.fee_terms"));
    if (!row)
        return fail(ErrorCode::kNotFound, "gym-rewards has not said what fee this network takes");
    return PublishedFee{row->get<std::uint32_t>("fee_ppm"), row->get<std::uint32_t>("burned_ppm"),
                        row->get<UnixMs>("changed_at_ms"),
                        row->get<std::optional<std::uint32_t>>("verification_premium_ppm"),
                        row->get<std::optional<std::uint32_t>>("uptime_bonus_max_ppm")};
}

}  // namespace gym::rewards
