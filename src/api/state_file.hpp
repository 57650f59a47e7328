#pragma once

#include <map>
#include <memory>
#include <string>

#include "gym/blob/blob_store.hpp"
#include "gym/common/result.hpp"

namespace gym::api {

/// The tensors of a stored state (docs/PROTOCOL.md, "States, deltas, datasets") as a safetensors
/// file that is put together while it is read: nothing but its header is in memory.
/// @errors kMalformed for other bytes, those of the reader.
[[nodiscard]] Result<std::shared_ptr<const blob::BlobReader>> state_as_safetensors(
    std::shared_ptr<const blob::BlobReader> state,
    const std::map<std::string, std::string>& metadata);

}  // namespace gym::api
