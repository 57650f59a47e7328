#pragma once

#include "context.hpp"

namespace gym::coordinator {

Result<std::optional<UnitAssignment>> next_unit(const Context& context, const Address& worker);
Result<CommitReceipt> commit_unit(const Context& context, const Address& worker,
                                  const protocol::SignedCommitment& commitment, ByteView records);
Result<UnitReceipt> unit_receipt(const Context& context, const Digest& unit);
Status defend(const Context& context, const Address& worker, const Digest& unit);

}  // namespace gym::coordinator
