#pragma once

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/records/order.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/orders.hpp"

/// What gym-rewards asks of an order before it locks an owner's money (docs/PROTOCOL.md, "Orders").
/// It believes no row that gym-api wrote: whoever took gym-api over holds its database role.
namespace gym::rewards {

/// That the owner signed the order for this network and this very job, that it has not expired, and
/// that the job's row says what the signed text says: terms, budget, prices, dataset, and a price
/// of the data within the signed one. Pure.
/// @errors as records::check_seal() and check_expiry(); kPermissionDenied for a job of another
/// owner; kConflict for a job that has ended; kMismatch where job and order differ, naming the
/// member; those of registry::parse_submitted_spec().
[[nodiscard]] Status check_order(const records::OrderNetwork& network,
                                 const registry::StoredOrder& order, const registry::Job& job,
                                 UnixMs now_ms);

}  // namespace gym::rewards
