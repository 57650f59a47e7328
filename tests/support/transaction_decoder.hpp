#pragma once

#include "gym/chain/transaction.hpp"

namespace gym::testing {

struct RecoveredTransaction {
    chain::Transaction transaction;
    Address from;
    Digest hash;
};

/// Decodes raw bytes of type 2 and recovers the sender. Strict. @errors kMalformed,
/// kUnauthenticated.
[[nodiscard]] Result<RecoveredTransaction> decode_transaction(ByteView raw);

}  // namespace gym::testing
