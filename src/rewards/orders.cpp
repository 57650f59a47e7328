#include "gym/rewards/orders.hpp"

#include <optional>
#include <string>

#include "books.hpp"
#include "gym/registry/job_spec.hpp"
#include "locks.hpp"

namespace gym::rewards {

using ledger::TransferStatus;
using registry::StoredOrder;

namespace {

Status expect_equal(bool equal, const char* member) {
    if (equal) return {};
    return fail(ErrorCode::kMismatch,
                std::string("the job has another ") + member + " than its owner signed");
}

/// Of a job whose text is the signed one.
Status check_row(const registry::SubmittedSpec& text, const records::JobOrder& order,
                 const registry::Job& job) {
    const records::OrderTerms signed_terms{order.datasets, order.budget_wei,
                                           order.price_wei_per_pflop, order.max_data_price_wei};
    GYM_CHECK(expect_equal(registry::order_terms(text) == signed_terms, "text"));
    GYM_CHECK(expect_equal(job.dataset_root == text.dataset_root, "dataset"));
    GYM_CHECK(expect_equal(job.budget_wei == order.budget_wei, "budget"));
    GYM_CHECK(
        expect_equal(job.terms.price_wei_per_pflop == order.price_wei_per_pflop, "price of work"));
    GYM_CHECK(expect_equal(job.terms == text.spec.terms, "set of terms"));
    if (job.data_price_wei_per_mtoken <= order.max_data_price_wei) return {};
    return fail(ErrorCode::kMismatch, "the job's data costs " +
                                          job.data_price_wei_per_mtoken.to_tokens() +
                                          " GYM per million tokens of text, its owner signed for " +
                                          order.max_data_price_wei.to_tokens() + " at the most");
}

Status check_text(const records::JobOrder& order, const registry::Job& job) {
    GYM_CHECK(expect_equal(records::spec_digest(job.spec_yaml) == order.spec, "text"));
    GYM_TRY(const auto text, registry::parse_submitted_spec(job.spec_yaml, "job"));
    return check_row(text, order, job);
}

}  // namespace

Status check_order(const records::OrderNetwork& network, const StoredOrder& order,
                   const registry::Job& job, UnixMs now_ms) {
    GYM_CHECK(registry::check_seal(network, order));
    GYM_CHECK(records::check_expiry(order.seal, now_ms));
    if (job.owner != order.owner())
        return fail(ErrorCode::kPermissionDenied, "the job belongs to " + job.owner.hex());
    if (job.ended_at_ms)
        return fail(ErrorCode::kConflict, "job " + job.id.hex() + " has ended: " +
                                              std::string(registry::to_string(job.status)));
    const auto* job_order = std::get_if<records::JobOrder>(&order.terms);
    return job_order != nullptr ? check_text(*job_order, job) : Status();
}

namespace {

/// Each with its job, whose text has up to a megabyte.
constexpr std::uint32_t kOrdersOfOneStep = 32;

Result<bool> leaves(Books& books, const Address& owner) {
    GYM_TRY(const db::Row row,
            books.transaction.exec_one(
                "SELECT EXISTS (SELECT FROM rewards.leaving WHERE owner = $1)", {owner}));
    return row.get<bool>(0);
}

/// Why the order is refused; empty: its money is reserved for the job's escrow now. @errors those
/// of the database.
Result<std::string> reserve(Books& books, const StoredOrder& order) {
    const auto job = books.job(order.job);
    if (!job.ok() && job.error().code != ErrorCode::kNotFound) return job.error();
    if (!job.ok()) return job.error().message;
    const Status good = check_order(books.config.order_network(), order, *job, books.now);
    if (!good.ok()) return good.error().message;
    GYM_TRY(const bool leaving, leaves(books, order.owner()));
    if (leaving)
        return std::string(
            "its owner leaves the network; `gym wallet leave --cancel` takes that back");
    const std::string asset = books.config.asset();
    GYM_TRY(const TransferStatus status,
            books.move(transfer_of(order), available_account(asset, order.owner()),
                       escrow_account(asset, order.job), order.amount(), "job budget",
                       ledger::TransferKind::kPending));
    if (ledger::done(status)) {
        GYM_CHECK(need_lock(books, order.owner(), order.amount()));
        return std::string();
    }
    if (status == TransferStatus::kInsufficient)
        return order.amount().to_tokens() + " GYM were ordered, and its owner has less available";
    return "the ledger refuses the transfer: " + std::string(to_string(status));
}

Status decide(Books& books, const StoredOrder& order) {
    GYM_TRY(const std::string refusal, reserve(books, order));
    const registry::OrderState state =
        refusal.empty() ? registry::OrderState::kLocking : registry::OrderState::kRefused;
    return registry::decide_order(books.transaction, order, state, refusal, books.now);
}

}  // namespace

Result<std::size_t> Accounting::take_orders() {
    return database_.transact(
        [&](db::Transaction& transaction) -> Result<std::size_t> {
            GYM_TRY(const auto orders, registry::waiting_orders(transaction, kOrdersOfOneStep));
            Books books{transaction, config_, clock_.now_ms()};
            for (const StoredOrder& order : orders)
                GYM_CHECK(decide(books, order));
            return orders.size();
        },
        idempotent());
}

}  // namespace gym::rewards
