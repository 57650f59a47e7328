#pragma once

#include <filesystem>

#include "gym/client/download.hpp"
#include "gym/common/result.hpp"
#include "gym/mirror/fetcher.hpp"

namespace gym::owner {

/// Fetches a public blob from mirrors into `file`, each MiB checked against the blob's root, from
/// several mirrors at once. What arrived lies beside `file` until it is whole, and is continued,
/// after it was checked again. Does nothing if there is a `file`.
/// @param options progress and interrupted. @errors kNotFound, kUnavailable: the mirrors do not
/// give it; kMismatch: it has another size than gym-api named; kIo; kCancelled.
Status download_from_mirrors(mirror::Fetcher& mirrors, const client::ModelBlob& blob,
                             const std::filesystem::path& file,
                             const client::DownloadOptions& options);

}  // namespace gym::owner
