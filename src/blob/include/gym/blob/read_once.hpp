#pragma once

#include <optional>

#include "gym/blob/blob_store.hpp"
#include "gym/blob/dataset_writer.hpp"

/// What a blob is, found by reading it once, in constant memory.
namespace gym::blob {

/// The blob's root. @errors the reader's.
[[nodiscard]] Result<Digest> blob_root(const BlobReader& blob);

/// scan_dataset() of a token file that is a blob, such as a sealed one.
/// @errors those of Dataset::decode(), and the reader's.
[[nodiscard]] Result<DatasetSummary> scan_dataset(
    const BlobReader& file, std::optional<FunctionRef<Status(TokenView)>> visit = std::nullopt);

}  // namespace gym::blob
