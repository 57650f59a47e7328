#pragma once

#include <cstdint>
#include <filesystem>

#include "cli/network_options.hpp"
#include "gym/blob/dataset_writer.hpp"
#include "gym/common/result.hpp"

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// As owner::pull_data(), of a dataset by its root, with all that the network has of it.
/// @param tokens_alone without manifest and tokenizer. @errors also kNotFound.
[[nodiscard]] Result<blob::DatasetSummary> pull_dataset(const ApiOptions& api, const Digest& root,
                                                        const std::filesystem::path& output,
                                                        bool tokens_alone);

/// As owner::registered_separator(), of a dataset by its root. @errors also kNotFound.
[[nodiscard]] Result<std::uint32_t> separator_of_dataset(const ApiOptions& api, const Digest& root);

/// `gym data pull`.
void add_pull_command(CLI::App& data, CliContext& context);

}  // namespace gym::app
