#pragma once

#include <cstdint>

#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/registry/datasets.hpp"

/// What one owner may register: datasets are never removed, and their files stay with the network.
namespace gym::registry {

struct DatasetQuota {
    std::uint64_t datasets_max = 1'000;                  ///< mixes included
    std::uint64_t bytes_max = std::uint64_t{256} << 30;  ///< of their tokens together
    std::uint32_t names_max = 100;
};

/// Bytes of each token in a dataset's file: as many as its vocabulary needs.
[[nodiscard]] std::uint64_t bytes_per_token(const Dataset& dataset);

/// Whether the owner of `dataset`, which is not registered, may register it. Final under
/// lock_registrations() alone; without it a first look, before anything is stored.
/// @errors kOutOfRange saying what the owner has, and of how much.
Status check_dataset_quota(db::Transaction& tx, const Dataset& dataset, const DatasetQuota& quota);

}  // namespace gym::registry
