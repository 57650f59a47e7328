#pragma once

#include <string>

#include "books.hpp"
#include "gym/registry/orders.hpp"

// What owners have locked in JobEscrow, and what the books need of it (rewards.owner_lock). An
// order's money is reserved by a pending transfer until the chain has locked it.
namespace gym::rewards {

/// An order's nonce counts once for its owner, so does its transfer.
[[nodiscard]] ledger::TransferId transfer_of(const registry::StoredOrder& order);

/// The books need that much more, or less, of the owner's money locked.
Status need_lock(Books& books, const Address& owner, const Amount& amount);
Status need_less(Books& books, const Address& owner, const Amount& amount);

/// The chain has locked the money of an order in state kLocking.
Status confirm_order(Books& books, const registry::StoredOrder& order);
/// It will not: the owner has its money back, and the order is refused with the reason.
Status give_up_order(Books& books, const registry::StoredOrder& order, const std::string& reason);

}  // namespace gym::rewards
