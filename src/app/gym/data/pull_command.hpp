#pragma once

#include <filesystem>

#include "cli/network_options.hpp"
#include "gym/blob/dataset_writer.hpp"
#include "gym/common/result.hpp"

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// Downloads the tokens of a registered dataset into `output` and checks their root. A call after
/// an interruption continues. @errors kPermissionDenied for a dataset that only its owner can
/// download, kMismatch for other tokens; those of data::Remote.
[[nodiscard]] Result<blob::DatasetSummary> pull_dataset(const ApiOptions& api, const Digest& root,
                                                        const std::filesystem::path& output);

/// `gym data pull`.
void add_pull_command(CLI::App& data, CliContext& context);

}  // namespace gym::app
