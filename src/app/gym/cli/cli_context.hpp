#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "gym/common/result.hpp"

namespace CLI {
class App;
}
namespace gym::engine {
struct EngineOptions;
}

namespace gym::app {

/// What `gym` returns to the shell. Scripts may rely on these numbers.
enum class ExitCode {
    kOk = 0,
    kFailed = 1,       ///< the system, a file or a library refused
    kUsage = 2,        ///< the command line or a configuration key is wrong
    kMismatch = 3,     ///< results or content differ from what was claimed
    kUnavailable = 4,  ///< a peer, database or chain did not answer in time
    kRejected = 5,     ///< understood and refused: permissions, funds, conflicting state
    kDiverged = 6,     ///< a training's loss became NaN or infinite
    kCancelled = 130,  ///< interrupted
};

[[nodiscard]] ExitCode exit_code_of(ErrorCode code) noexcept;

/// Shared by all commands of one invocation.
struct CliContext {
    const char* program = "gym";  ///< begins every error line
    bool json = false;  ///< machine-readable output: JSON objects on standard output, one a line
    ExitCode exit_code = ExitCode::kOk;

    /// Ends a command: on failure prints the error (stderr, or an {"error":...} object with --json)
    /// and sets the exit code.
    void finish(const Status& status);
    /// Ends a command with a failure that has an exit code of its own; `code` is its name in JSON.
    void finish_with(ExitCode exit, std::string_view code, const std::string& message);
    /// Prints `object` as one line of JSON on standard output.
    void print_json(const boost::json::object& object) const;
};

// One function per command group, each in its own file; main() calls them all.
void add_data_commands(CLI::App& app, CliContext& context);
void add_devnet_commands(CLI::App& app, CliContext& context);
void add_model_commands(CLI::App& app, CliContext& context);
void add_program_commands(CLI::App& app, CliContext& context);
void add_unit_commands(CLI::App& app, CliContext& context);
void add_generate_command(CLI::App& app, CliContext& context);
void add_node_commands(CLI::App& app, CliContext& context);
void add_network_commands(CLI::App& app, CliContext& context);
void add_job_commands(CLI::App& app, CliContext& context);
void add_wallet_commands(CLI::App& app, CliContext& context);
void add_rewards_commands(CLI::App& app, CliContext& context);
void add_stake_commands(CLI::App& app, CliContext& context);
void add_dispute_commands(CLI::App& app, CliContext& context);
void add_ledger_commands(CLI::App& app, CliContext& context);
void add_operator_commands(CLI::App& app, CliContext& context);
void add_params_commands(CLI::App& app, CliContext& context);
void add_tokenizer_commands(CLI::App& app, CliContext& context);
void add_mirror_command(CLI::App& app, CliContext& context);
// Below `gym program`.
/// Fetches the weights of a registered model. @return the folder with them.
using WeightsByName = std::function<Result<std::string>(const std::string& name)>;
/// @param find_weights for names in --init; empty: only files are taken.
void add_train_command(CLI::App& group, CliContext& context,
                       const WeightsByName& find_weights = {});
void add_weights_commands(CLI::App& group, CliContext& context);
void add_import_command(CLI::App& group, CliContext& context);

/// --threads, --isa and --device.
void add_engine_options(CLI::App& command, engine::EngineOptions& options);

}  // namespace gym::app
