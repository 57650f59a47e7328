#include "credits.hpp"

// What a round pays on top of its credits: the network's fee, of which a part is burned, and what
// an emission account adds to compute (docs/REWARDS.md, "Fees and emission").
namespace gym::rewards {

using ledger::transfer_id;

namespace {

/// Credits for work; fees are on these, and on nothing else.
constexpr std::string_view kWork = "('compute', 'verification', 'uptime', 'data')";

struct Charge {
    Digest job_id;
    std::uint64_t round = 0;
    Amount amount;
    std::string cause;  ///< of the transfers' ids
};

/// Both parts of the fee on `charge`. @return what is burned by it, zero if the job could not pay.
Result<Amount> book_fee(Books& books, const Charge& charge) {
    const FeeTerms& terms = books.config.fees;
    const auto book = [&](const ledger::TransferId& id, const Address& earner,
                          const CreditInputs& inputs) {
        return book_credit(
            books, id,
            {.inputs = inputs, .earner = earner, .job_id = charge.job_id, .round = charge.round});
    };
    const ledger::TransferId burn_id = transfer_id("burn:" + charge.cause);
    GYM_CHECK(book(transfer_id("fee:" + charge.cause), terms.account,
                   FeeInputs{charge.amount, terms.fee_ppm, terms.burned_ppm}));
    GYM_CHECK(
        book(burn_id, kBurnAddress, BurnInputs{charge.amount, terms.fee_ppm, terms.burned_ppm}));
    GYM_TRY(const auto burned,
            books.transaction.exec_optional(
                "SELECT amount FROM rewards.credit WHERE id = $1 AND state = 'posted'",
                {to_uuid(burn_id)}));
    return burned ? burned->get<Amount>(0) : Amount();
}

/// All shares or none: who comes last in the list is not to depend on what the account has left.
Result<bool> covers(Books& books, const Amount& burned) {
    const FeeTerms& terms = books.config.fees;
    GYM_TRY(const Amount most, burned.mul_div(Amount(terms.emission_ppm), Amount(kPpm)));
    GYM_TRY(const ledger::Balance balance,
            ledger::balance(books.transaction,
                            available_account(books.config.asset(), terms.emission_account)));
    return !most.is_zero() && balance.spendable() >= most;
}

Status book_emission(Books& books, const Charge& charge, const Amount& burned) {
    GYM_TRY(const bool is_covered, covers(books, burned));
    if (!is_covered) return {};
    GYM_TRY(const db::Rows rows,
            books.transaction.exec(
                "SELECT node, earner, sum(amount) AS compute, sum(sum(amount)) OVER () AS total "
                "FROM rewards.credit WHERE job_id = $1 AND round = $2 AND kind = 'compute' "
                "AND state = 'posted' GROUP BY node, earner ORDER BY node, earner",
                {charge.job_id, charge.round}));
    for (const db::Row row : rows) {
        const auto node = row.get<Address>("node");
        const auto earner = row.get<Address>("earner");
        const EmissionInputs inputs{.burned = burned,
                                    .emission_ppm = books.config.fees.emission_ppm,
                                    .compute = row.get<Amount>("compute"),
                                    .compute_total = row.get<Amount>("total")};
        GYM_CHECK(book_credit(
            books, transfer_id("emission:" + charge.cause + ":" + node.hex() + ":" + earner.hex()),
            {.inputs = inputs,
             .earner = earner,
             .job_id = charge.job_id,
             .round = charge.round,
             .node = node,
             .payer = books.config.fees.emission_account}));
    }
    return {};
}

}  // namespace

Status book_round_fees(Books& books, const Digest& job_id, std::uint64_t round) {
    const FeeTerms& terms = books.config.fees;
    if (terms.fee_ppm == 0) return {};
    GYM_TRY(const db::Row row,
            books.transaction.exec_one("SELECT coalesce(sum(amount), 0) FROM rewards.credit "
                                       "WHERE job_id = $1 AND round = $2 AND state = 'posted' "
                                       "AND kind IN " +
                                           std::string(kWork),
                                       {job_id, round}));
    const Charge charge{job_id, round, row.get<Amount>(0),
                        job_id.hex() + ":" + std::to_string(round)};
    GYM_TRY(const Amount burned, book_fee(books, charge));
    if (terms.emission_ppm == 0) return {};
    return book_emission(books, charge, burned);
}

Status book_late_fee(Books& books, const std::string& credit_uuid) {
    if (books.config.fees.fee_ppm == 0) return {};
    GYM_TRY(const auto row,
            books.transaction.exec_optional(
                "SELECT c.job_id, c.round, c.amount FROM rewards.credit c "
                "JOIN rewards.finished_round f ON f.job_id = c.job_id AND f.round = c.round "
                "WHERE c.id = $1 AND c.state = 'posted' AND c.kind IN " +
                    std::string(kWork),
                {credit_uuid}));
    if (!row) return {};
    const Charge charge{row->get<Digest>("job_id"), row->get<std::uint64_t>("round"),
                        row->get<Amount>("amount"), "late:" + credit_uuid};
    GYM_CHECK(book_fee(books, charge));
    return {};
}

}  // namespace gym::rewards
