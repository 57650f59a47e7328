#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/db/database.hpp"

namespace gym::registry {

struct Dataset {
    Digest root;  ///< tensor root of the tokens (blob::Dataset::root)
    Digest blob;  ///< blob root of the token file
    Address owner;
    std::string name;
    std::uint64_t tokens = 0;
    std::uint32_t vocabulary = 0;
    Amount price_wei_per_mtoken;  ///< per million tokens consumed by final units; zero: free
    std::uint32_t quality_ppm = 1'000'000;
    UnixMs registered_at_ms = 0;
};

/// Registers a dataset; registering the same one again (same root, blob and owner) changes nothing,
/// its name neither.
/// @return whether it is new. @errors kConflict if the root belongs to somebody else.
Result<bool> register_dataset(db::Transaction& tx, const Dataset& dataset);
/// @errors kNotFound.
Result<Dataset> get_dataset(db::Transaction& tx, const Digest& root);
/// Newest first, at most 1,000.
Result<std::vector<Dataset>> list_datasets(db::Transaction& tx);

}  // namespace gym::registry
