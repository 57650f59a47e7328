#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "gym/blob/dataset_writer.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

/// Registered data that is fetched from a network.
namespace gym::owner {

struct DataPull {
    std::string api;  ///< base URL of gym-api
    std::string key;  ///< of the API: without one only what needs none
    Digest root;
    std::uint64_t tokens = 0;  ///< that are registered
    std::uint32_t vocabulary = 0;
    std::optional<Digest> manifest;  ///< root of the one to fetch beside the tokens
    std::filesystem::path output;    ///< token file; the manifest is at data::manifest_path() of it
    std::function<bool()> stopped;   ///< asked while bytes arrive; may be empty
};

/// Downloads a dataset's tokens, and its manifest, and checks them against their roots. A call
/// after an interruption continues. @errors kUnauthenticated; kPermissionDenied for tokens that
/// only their owner can download; kMismatch for other bytes, which are not kept; those of
/// data::Remote::download().
[[nodiscard]] Result<blob::DatasetSummary> pull_data(const DataPull& pull);

}  // namespace gym::owner
