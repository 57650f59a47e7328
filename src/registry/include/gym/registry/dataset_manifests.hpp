#pragma once

#include <cstdint>
#include <optional>

#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"

namespace gym::registry {

/// Where a dataset's documents come from (data::Manifest), as its owner said. It never changes.
struct DatasetManifest {
    Digest dataset;
    Digest root;  ///< data::Manifest::root
    Digest blob;  ///< of the file
    std::uint64_t bytes = 0;
    UnixMs added_at_ms = 0;
};
struct AddedManifest {
    DatasetManifest manifest;
    bool is_new = false;
};

/// Adding the same again changes nothing. @errors kConflict if the dataset has another.
Result<AddedManifest> add_dataset_manifest(db::Transaction& tx, const DatasetManifest& given);
Result<std::optional<DatasetManifest>> find_dataset_manifest(db::Transaction& tx,
                                                             const Digest& dataset);

}  // namespace gym::registry
