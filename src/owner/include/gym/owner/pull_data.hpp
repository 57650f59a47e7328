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
    /// Root of the tokenizer whose files are fetched beside the tokens, if their owner gave them.
    std::optional<Digest> tokenizer;
    std::filesystem::path output;   ///< token file, by which its manifest and tokenizer are named
    std::function<bool()> stopped;  ///< asked while bytes arrive; may be empty
};

/// Downloads a dataset's tokens, its manifest and its tokenizer, and checks them against their
/// roots. A call after an interruption continues. @errors kUnauthenticated; kPermissionDenied for
/// tokens that only their owner can download; kMismatch for other bytes, which are not kept; those
/// of data::Remote::download().
[[nodiscard]] Result<blob::DatasetSummary> pull_data(const DataPull& pull);

/// The token between the documents of the dataset, by its manifest, which is fetched, checked and
/// not kept: what a model that keeps documents apart names. That no document has the token is not
/// looked at. @errors kNotFound: the owner gave no manifest; those of data::separator_of() and
/// pull_data().
[[nodiscard]] Result<std::uint32_t> registered_separator(DataPull pull);

}  // namespace gym::owner
