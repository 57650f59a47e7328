#pragma once

#include <string>

#include "cli/cli_context.hpp"
#include "gym/common/result.hpp"

namespace gym::app {

/// `gym model push`, `pull`, `registered`, `versions` and `visibility`.
void add_model_registry_commands(CLI::App& model, CliContext& context);

/// Fetches the weights of NAME[@VERSION] from the default network, unless they are below the data
/// directory (`models`) already. @return the folder with them.
/// @errors kNotFound where the name, or a network, does not exist; those of owner::cached_model().
[[nodiscard]] Result<std::string> fetch_named_weights(const std::string& name);

}  // namespace gym::app
