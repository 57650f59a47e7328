#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/cli_context.hpp"
#include "cli/network_options.hpp"
#include "gym/client/api_client.hpp"
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

/// In plain words: the accounts that can list and download something, and that nodes see it in the
/// clear.
/// @param nodes registered and not excluded; absent: not known.
[[nodiscard]] std::string who_sees_data(const registry::Access& access,
                                        std::optional<std::uint64_t> nodes);
[[nodiscard]] std::string who_sees_model(const registry::Access& access,
                                         std::optional<std::uint64_t> nodes);
/// Nodes that may be given a task; absent where gym-api does not answer.
[[nodiscard]] std::optional<std::uint64_t> count_nodes(const client::ApiClient& api);

/// `gym data visibility` and `gym job visibility`.
void add_data_visibility_command(CLI::App& data, CliContext& context);
void add_job_visibility_command(CLI::App& job, CliContext& context);

}  // namespace gym::app
