#pragma once

#include <cstdint>
#include <filesystem>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/data/manifest.hpp"

namespace gym::data {

/// The token that stands between the documents of a token file and in none of them, by the manifest
/// beside the file: what a model that keeps documents apart names (docs/DATA.md, "Documents that
/// share a window"). Reads the file once, in constant memory. @param root of its dataset.
/// @errors kInvalidArgument saying why there is none: no manifest, several tokens or none between
/// documents, a document that has it; kMismatch if the manifest is of another dataset; those of
/// read_manifest() and blob::scan_dataset().
[[nodiscard]] Result<std::uint32_t> document_separator(const std::filesystem::path& token_file,
                                                       const Digest& root);

/// The same by a manifest's head, where the tokens are not here: that no document has the token is
/// not looked at. @errors kInvalidArgument.
[[nodiscard]] Result<std::uint32_t> separator_of(const ManifestHead& head);

}  // namespace gym::data
