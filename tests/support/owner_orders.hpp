#pragma once

#include <limits>

#include "gym/crypto/key.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/orders.hpp"

/// Jobs and budgets as gym-api and gym-rewards leave them: with orders that cover them, decided as
/// locked. The test moves the money, if it has any.
namespace gym::testing {

/// Whose owner signs, for an auditor; without it nobody does.
struct OrderKey {
    records::OrderNetwork network;
    const crypto::PrivateKey& key;
};

template <class Order>
records::OrderSeal seal_with(const OrderKey* signer, Order order) {
    order.expiry_s = 4'000'000'000;
    return signer == nullptr ? records::OrderSeal()
                             : records::seal_order(signer->network, order, signer->key);
}

/// Decides all of a job's orders that wait, as gym-rewards does with those that are signed.
inline Status lock_orders(db::Transaction& tx, const Digest& job, UnixMs now_ms) {
    GYM_TRY(const auto orders, registry::orders_of_job(tx, job));
    for (registry::StoredOrder order : orders) {
        if (order.state != registry::OrderState::kWaiting) continue;
        GYM_CHECK(registry::decide_order(tx, order, registry::OrderState::kLocking, "", now_ms));
        order.state = registry::OrderState::kLocking;
        GYM_CHECK(registry::decide_order(tx, order, registry::OrderState::kLocked, "", now_ms));
    }
    return {};
}

/// A job with the order for it, which waits. Needs the rights of the schema's owner: no service
/// writes all of it.
inline Result<registry::Job> store_job(db::Transaction& tx, const registry::NewJob& job,
                                       UnixMs now_ms, const OrderKey* signer = nullptr) {
    const records::JobOrder order{
        .owner = job.owner,
        .spec = records::spec_digest(job.spec_yaml),
        .datasets = {job.dataset_root},
        .budget_wei = job.budget_wei,
        .price_wei_per_pflop = job.terms.price_wei_per_pflop,
        .max_data_price_wei = Amount(std::numeric_limits<std::uint64_t>::max()),
        .nonce = job.id};
    GYM_CHECK(registry::store_order(tx, job.id, order, seal_with(signer, order), now_ms));
    return registry::submit_job(tx, job, now_ms);
}
/// The same, with its money locked.
inline Result<registry::Job> submit_job(db::Transaction& tx, const registry::NewJob& job,
                                        UnixMs now_ms, const OrderKey* signer = nullptr) {
    GYM_TRY(registry::Job stored, store_job(tx, job, now_ms, signer));
    GYM_CHECK(lock_orders(tx, job.id, now_ms));
    return stored;
}

/// An order for more budget, which waits.
inline Status store_funding(db::Transaction& tx, const Digest& job, const Amount& amount,
                            const OrderKey* signer = nullptr) {
    GYM_TRY(const registry::Job stored, registry::get_job(tx, job));
    const records::JobFunding funding{
        .owner = stored.owner,
        .job = job,
        .amount_wei = amount,
        .nonce = records::order_nonce(job.hex() + stored.budget_wei.to_string())};
    return registry::store_funding(tx, funding, seal_with(signer, funding), 1);
}
inline Status add_budget(db::Transaction& tx, const Digest& job, const Amount& amount) {
    GYM_CHECK(store_funding(tx, job, amount));
    GYM_CHECK(lock_orders(tx, job, 1));
    return registry::add_budget(tx, job, amount);
}

}  // namespace gym::testing
