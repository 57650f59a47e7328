#pragma once

#include <memory>

#include "gym/crypto/eip712.hpp"
#include "gym/game/rerun_work.hpp"
#include "gym/player/player.hpp"
#include "gym/rpc/blob_cache.hpp"

namespace gym::node {

/// Runs the units of claims again, with inputs from the node's blobs or the coordinator. The latest
/// one is kept. Not thread-safe.
/// @param claims of the same node: blobs that no claim needs are removed from `cache`.
/// @param domain of commitments.
[[nodiscard]] std::unique_ptr<player::UnitSource> make_claim_units(
    rpc::BlobCache cache, const player::ClaimStore& claims, const crypto::Eip712Domain& domain,
    game::RerunWorkOptions options);

}  // namespace gym::node
