#pragma once

#include <memory>

#include "gym/blob/blob_store.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/db/database.hpp"
#include "gym/player/player.hpp"

namespace gym::coordinator {

/// Finds what a coordinator stands for: the commitments under its epochs, and what its rounds begin
/// with and train on. @param database as gym_coordinator. Both outlive the source. @param domain of
/// commitments.
[[nodiscard]] std::unique_ptr<player::DataSource> make_coordinator_data(
    db::Database& database, const blob::BlobStore& blobs, const crypto::Eip712Domain& domain);

}  // namespace gym::coordinator
