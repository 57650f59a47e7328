#include "locks.hpp"

namespace gym::rewards {
namespace {

using registry::StoredOrder;

/// False if another gym-rewards was faster.
Result<bool> is_ours(Books& books, const StoredOrder& order) {
    GYM_TRY(const auto row,
            books.transaction.exec_optional(
                "SELECT 1 FROM registry.order_state WHERE kind = $1 AND owner = $2 AND nonce = $3 "
                "AND state = 'locking' FOR UPDATE",
                {order.is_funding() ? "funding" : "job", order.owner(), order.nonce()}));
    return row.has_value();
}

Status resolve(Books& books, const StoredOrder& order, const char* cause,
               ledger::TransferKind kind) {
    const ledger::TransferId pending = transfer_of(order);
    GYM_TRY(const ledger::TransferStatus status,
            books.resolve(ledger::transfer_id(cause + to_uuid(pending)), pending, kind));
    if (ledger::done(status)) return {};
    return fail(ErrorCode::kConflict, "the ledger refuses to decide the order of " +
                                          order.owner().hex() + " for job " + order.job.hex() +
                                          ": " + std::string(to_string(status)));
}

}  // namespace

ledger::TransferId transfer_of(const StoredOrder& order) {
    return ledger::transfer_id(std::string(order.is_funding() ? "job-funding:" : "job-order:") +
                               order.owner().hex() + ":" + order.nonce().hex());
}

Status need_lock(Books& books, const Address& owner, const Amount& amount) {
    GYM_CHECK(books.transaction.exec(
        "INSERT INTO rewards.owner_lock AS l (owner, needed) VALUES ($1, $2) "
        "ON CONFLICT (owner) DO UPDATE SET needed = l.needed + excluded.needed",
        {owner, amount}));
    return {};
}

Status need_less(Books& books, const Address& owner, const Amount& amount) {
    GYM_CHECK(books.transaction.exec(
        "UPDATE rewards.owner_lock SET needed = needed - $2 WHERE owner = $1", {owner, amount}));
    return {};
}

Status confirm_order(Books& books, const StoredOrder& order) {
    GYM_TRY(const bool ours, is_ours(books, order));
    if (!ours) return {};
    GYM_CHECK(resolve(books, order, "locked:", ledger::TransferKind::kPost));
    GYM_CHECK(registry::decide_order(books.transaction, order, registry::OrderState::kLocked, "",
                                     books.now));
    if (!order.is_funding()) return {};
    return registry::add_budget(books.transaction, order.job, order.amount());
}

Status give_up_order(Books& books, const StoredOrder& order, const std::string& reason) {
    GYM_TRY(const bool ours, is_ours(books, order));
    if (!ours) return {};
    GYM_CHECK(resolve(books, order, "not-locked:", ledger::TransferKind::kVoid));
    GYM_CHECK(need_less(books, order.owner(), order.amount()));
    return registry::decide_order(books.transaction, order, registry::OrderState::kRefused, reason,
                                  books.now);
}

}  // namespace gym::rewards
