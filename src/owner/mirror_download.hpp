#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "gym/client/records.hpp"
#include "gym/common/result.hpp"
#include "gym/mirror/fetcher.hpp"

namespace gym::owner {

struct MirrorCalls {
    std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
    std::function<bool()> interrupted = {};  ///< asked between pieces
};

/// Fetches a public blob from mirrors into `file`, each MiB checked against the blob's root, from
/// several mirrors at once. What arrived lies beside `file` until it is whole, and is continued,
/// after it was checked again. Does nothing if there is a `file`.
/// @errors kNotFound, kUnavailable: the mirrors do not give it; kMismatch: it has another size than
/// gym-api named; kIo; kCancelled.
Status download_from_mirrors(mirror::Fetcher& mirrors, const client::ModelBlob& blob,
                             const std::filesystem::path& file, const MirrorCalls& calls);

}  // namespace gym::owner
