#pragma once

#include <memory>

#include "gym/blob/blob_store.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/game/rerun_work.hpp"
#include "gym/player/player.hpp"

namespace gym::coordinator {

/// Makes the coordinator's aggregates again for the games about them, and train units for those
/// about false reports, with inputs from its blob store. The latest one is kept. Not thread-safe.
/// @param blobs outlives the source. @param domain of commitments.
[[nodiscard]] std::unique_ptr<player::UnitSource> make_coordinator_units(
    const blob::BlobStore& blobs, const crypto::Eip712Domain& domain,
    game::RerunWorkOptions options);

}  // namespace gym::coordinator
