#include "gym/registry/orders.hpp"

namespace gym::registry {
namespace {

Status expect_stored(const db::Rows& rows, const Digest& job_id) {
    if (rows.affected() == 1) return {};
    return fail(ErrorCode::kNotFound, "there is no job " + job_id.hex());
}

}  // namespace

Status store_order(db::Transaction& tx, const Digest& job_id, const records::JobOrder& order,
                   const records::OrderSeal& seal, UnixMs now_ms) {
    Bytes datasets;
    datasets.reserve(order.datasets.size() * sizeof(Digest));
    for (const Digest& root : order.datasets)
        datasets.insert(datasets.end(), root.data.begin(), root.data.end());
    GYM_CHECK(
        tx.exec("INSERT INTO registry.job_order (job_id, owner, nonce, spec, datasets, budget_wei, "
                "price_wei_per_pflop, max_data_price_wei, expiry_s, chain_id, escrow, signature, "
                "received_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) "
                "ON CONFLICT (job_id) DO NOTHING",
                {job_id, order.owner, order.nonce, order.spec, datasets, order.budget_wei,
                 order.price_wei_per_pflop, order.max_data_price_wei, seal.expiry_s,
                 seal.network.chain_id, seal.network.escrow, seal.signature, now_ms}));
    return {};
}

Status store_funding(db::Transaction& tx, const records::JobFunding& funding,
                     const records::OrderSeal& seal, UnixMs now_ms) {
    GYM_TRY(const db::Rows stored,
            tx.exec("INSERT INTO registry.job_funding (job_id, owner, nonce, amount_wei, expiry_s, "
                    "chain_id, escrow, signature, received_at_ms) SELECT id, owner, $2, $3, $4, "
                    "$5, $6, $7, $8 FROM registry.job WHERE id = $1 AND owner = $9",
                    {funding.job, funding.nonce, funding.amount_wei, seal.expiry_s,
                     seal.network.chain_id, seal.network.escrow, seal.signature, now_ms,
                     funding.owner}));
    return expect_stored(stored, funding.job);
}

}  // namespace gym::registry
