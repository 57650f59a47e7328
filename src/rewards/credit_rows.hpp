#pragma once

#include <string>

#include "gym/db/database.hpp"
#include "gym/rewards/credit.hpp"

// Rows of rewards.credit, by the list of fields in credit.hpp.
namespace gym::rewards {

/// "SELECT c.id, ... FROM rewards.credit c ", whose rows to_receipt() reads.
[[nodiscard]] const std::string& receipt_select();
Result<Receipt> to_receipt(const db::Row& row);
/// @param due The credit is to be paid as soon as the escrow can (kUnfunded only).
Status insert_credit(db::Transaction& transaction, const Receipt& receipt, bool due);

}  // namespace gym::rewards
