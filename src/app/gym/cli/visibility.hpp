#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/cli_context.hpp"
#include "cli/network_options.hpp"
#include "gym/registry/visibility.hpp"

namespace gym::app {

/// The flags for the visibility of a dataset or a model.
struct VisibilityOptions {
    std::string visibility;            ///< empty: not said
    std::vector<std::string> allowed;  ///< accounts, as text

    void add_to(CLI::App& command, const char* about);
    /// Absent if nothing was said. A list of accounts alone means allow-list.
    /// @errors kInvalidArgument, as registry::make_access().
    [[nodiscard]] Result<std::optional<registry::Access>> access() const;
};

/// `gym data visibility`, `gym job visibility` and `gym model visibility`.
void add_data_visibility_command(CLI::App& data, CliContext& context);
void add_job_visibility_command(CLI::App& job, CliContext& context);
void add_model_visibility_command(CLI::App& model, CliContext& context);

}  // namespace gym::app
