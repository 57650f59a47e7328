#pragma once

#include <cstdint>
#include <span>

#include "gym/chain/client.hpp"

namespace gym::chain {

/// That `logs` are what the blocks `query.first_block` .. `query.last_block` have for the query, in
/// order: no log is missing, added or altered. The blocks' headers form a chain up to the one with
/// the hash `last`; a block whose bloom filter may contain such a log shows its receipts, which
/// hash to its receipts root. One request for 128 blocks, and one for each block that may have a
/// log.
/// @errors kMismatch naming the block; kUnavailable if the node's chain has changed meanwhile;
/// those of ChainClient.
Status check_logs(ChainClient& client, const LogQuery& query, const Digest& last,
                  std::span<const Log> logs);

}  // namespace gym::chain
