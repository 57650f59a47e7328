#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gym/chain/client.hpp"

namespace gym::chain {

/// All logs of a block, in order, by receipts that hash to its receipts root.
/// @errors kMismatch naming the block; those of ChainClient::receipts().
[[nodiscard]] Result<std::vector<Log>> logs_by_receipts(ChainClient& client,
                                                        const BlockHeader& header);

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
