#pragma once

#include "gym/registry/jobs.hpp"
#include "gym/registry/orders.hpp"

/// Jobs and budgets with orders that cover them and that nobody signed: gym-api alone looks at
/// signatures.
namespace gym::testing {

inline Result<registry::Job> submit_job(db::Transaction& tx, const registry::NewJob& job,
                                        UnixMs now_ms) {
    const records::JobOrder order{.owner = job.owner,
                                  .spec = records::spec_digest(job.spec_yaml),
                                  .datasets = {job.dataset_root},
                                  .budget_wei = job.budget_wei,
                                  .price_wei_per_pflop = job.terms.price_wei_per_pflop,
                                  .nonce = job.id};
    GYM_CHECK(registry::store_order(tx, job.id, order, {}, now_ms));
    return registry::submit_job(tx, job, now_ms);
}

inline Status add_budget(db::Transaction& tx, const Digest& job, const Amount& amount) {
    GYM_TRY(const registry::Job stored, registry::get_job(tx, job));
    const records::JobFunding funding{
        .owner = stored.owner,
        .job = job,
        .amount_wei = amount,
        .nonce = records::order_nonce(job.hex() + stored.budget_wei.to_string())};
    GYM_CHECK(registry::store_funding(tx, funding, {}, 1));
    return registry::add_budget(tx, job, amount);
}

}  // namespace gym::testing
