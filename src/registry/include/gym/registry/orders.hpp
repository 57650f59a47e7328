#pragma once

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/records/order.hpp"

/// What owners signed, append-only. The caller has checked the seals (records::check_seal); the
/// database lets no job and no budget in that the stored orders do not cover.
namespace gym::registry {

/// Stores a job's order; submit_job() comes after it, in the same transaction. The same order again
/// changes nothing. @errors kConflict for a nonce of another order.
Status store_order(db::Transaction& tx, const Digest& job_id, const records::JobOrder& order,
                   const records::OrderSeal& seal, UnixMs now_ms);

/// Stores an order for more budget; add_budget() comes after it, in the same transaction.
/// @errors kConflict for a nonce of another funding; kNotFound for the job.
Status store_funding(db::Transaction& tx, const records::JobFunding& funding,
                     const records::OrderSeal& seal, UnixMs now_ms);

}  // namespace gym::registry
