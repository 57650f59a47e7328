#include "gym/rewards/queries.hpp"
#include "gym/ledger/ledger.hpp"
#include "gym/rewards/accounts.hpp"

#include <algorithm>

#include "credit_rows.hpp"

namespace gym::rewards {
namespace {

constexpr std::uint32_t kListMax = 1000;

Result<std::vector<Receipt>> to_receipts(const db::Rows& rows) {
    std::vector<Receipt> receipts;
    for (const db::Row row : rows) {
        GYM_TRY(Receipt receipt, to_receipt(row));
        receipts.push_back(std::move(receipt));
    }
    return receipts;
}

}  // namespace

Result<Receipt> explain(db::Transaction& transaction, std::string_view id) {
    std::optional<db::Row> row;
    if (id.starts_with("0x")) {
        GYM_TRY(const Digest unit, Digest::parse(id));
        GYM_TRY(row,
                transaction.exec_optional(
                    receipt_select() + "WHERE c.unit_id = $1 AND c.kind IN ('compute', 'prefix')",
                    {unit}));
    } else {
        GYM_TRY(const ledger::TransferId transfer, ledger::parse_uuid(id));
        GYM_TRY(row, transaction.exec_optional(receipt_select() + "WHERE c.id = $1",
                                               {to_uuid(transfer)}));
    }
    if (!row) return fail(ErrorCode::kNotFound, "there is no credit " + std::string(id));
    return to_receipt(*row);
}

Result<std::vector<Receipt>> unit_receipts(db::Transaction& transaction, const Digest& unit) {
    GYM_TRY(const db::Rows rows,
            transaction.exec(
                receipt_select() + "WHERE c.unit_id = $1 ORDER BY c.created_at_ms, c.id LIMIT $2",
                {unit, kListMax}));
    return to_receipts(rows);
}

Result<std::vector<KindTotal>> job_totals(db::Transaction& transaction, const Digest& job_id) {
    GYM_TRY(const db::Rows rows,
            transaction.exec(
                "SELECT kind, count(*) FILTER (WHERE state = 'posted') AS credits, "
                "coalesce(sum(amount) FILTER (WHERE state = 'posted'), 0) AS posted, "
                "coalesce(sum(amount) FILTER (WHERE state = 'pending'), 0) AS pending, "
                "coalesce(sum(amount) FILTER (WHERE state = 'unfunded'), 0) AS unfunded "
                "FROM rewards.credit WHERE job_id = $1 AND payer IS NULL AND state <> 'void' "
                "GROUP BY kind ORDER BY array_position(ARRAY['compute', 'verification', 'uptime', "
                "'data', 'fee', 'burn', 'prefix'], kind::text)",
                {job_id}));
    std::vector<KindTotal> totals;
    for (const db::Row row : rows) {
        KindTotal total;
        GYM_TRY(total.kind, parse_credit_kind(row.get<std::string>("kind")));
        total.credits = row.get<std::uint64_t>("credits");
        total.posted = row.get<Amount>("posted");
        total.pending = row.get<Amount>("pending");
        total.unfunded = row.get<Amount>("unfunded");
        totals.push_back(total);
    }
    return totals;
}

Result<std::vector<Receipt>> list_receipts(db::Transaction& transaction, const Address& earner,
                                           std::uint32_t limit) {
    GYM_TRY(const db::Rows rows,
            transaction.exec(receipt_select() +
                                 "WHERE c.earner = $1 ORDER BY c.created_at_ms DESC, c.id LIMIT $2",
                             {earner, std::min(limit, kListMax)}));
    return to_receipts(rows);
}

Result<EarnerSummary> summary(db::Transaction& transaction, const std::string& asset,
                              const Address& earner) {
    GYM_TRY(const ledger::Balance earned,
            ledger::balance(transaction, earned_account(asset, earner)));
    GYM_TRY(const ledger::Balance payable,
            ledger::balance(transaction, payable_account(asset, earner)));
    return EarnerSummary{earned.credits_pending, earned.spendable(), payable.credits,
                         payable.debits};
}

Result<std::vector<PayoutEpoch>> list_epochs(db::Transaction& transaction, std::uint32_t limit) {
    GYM_TRY(
        const db::Rows rows,
        transaction.exec("SELECT epoch, state, payout_root, file_root, total_cumulative, problem "
                         "FROM rewards.settlement ORDER BY epoch DESC LIMIT $1",
                         {std::min(limit, kListMax)}));
    std::vector<PayoutEpoch> epochs;
    for (const db::Row row : rows) {
        GYM_TRY(const EpochState state, parse_epoch_state(row.get<std::string>("state")));
        epochs.push_back({row.get<std::uint64_t>("epoch"), state, row.get<Digest>("payout_root"),
                          row.get<Digest>("file_root"), row.get<Amount>("total_cumulative"),
                          row.get<std::string>("problem")});
    }
    return epochs;
}

Result<std::string> epoch_file(db::Transaction& transaction, std::uint64_t epoch) {
    GYM_TRY(const auto row, transaction.exec_optional(
                                "SELECT file FROM rewards.settlement WHERE epoch = $1", {epoch}));
    if (!row) return fail(ErrorCode::kNotFound, "no payout epoch " + std::to_string(epoch));
    return row->get<std::string>(0);
}

Result<PublishedFee> published_fee(db::Transaction& transaction) {
    GYM_TRY(const auto row,
            transaction.exec_optional("SELECT fee_ppm, burned_ppm, changed_at_ms, "
                                      "verification_premium_ppm, uptime_bonus_max_ppm "
                                      "FROM rewards.fee_terms"));
    if (!row)
        return fail(ErrorCode::kNotFound,
                    "the fee of this network is not published yet: gym-rewards has not run");
    return PublishedFee{row->get<std::uint32_t>("fee_ppm"), row->get<std::uint32_t>("burned_ppm"),
                        row->get<UnixMs>("changed_at_ms"),
                        row->get<std::optional<std::uint32_t>>("verification_premium_ppm"),
                        row->get<std::optional<std::uint32_t>>("uptime_bonus_max_ppm")};
}

}  // namespace gym::rewards
