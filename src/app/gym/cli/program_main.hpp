#pragma once

#include <functional>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace gym::app {

/// The table of ExitCode, below the help of programs and, if set before they are added, of their
/// subcommands.
inline constexpr const char* kExitCodesHelp =
    "Exit codes: 0 success, 1 failure, 2 wrong usage or configuration, 3 mismatch (a result "
    "differs from the\nclaimed one), 4 a peer does not answer, 5 refused, 6 a training's loss is "
    "NaN or infinite, 130 "
    "interrupted.";

/// Parses the command line, which also has --version; callbacks run meanwhile.
/// @return the code to exit with after --help, --version or
/// wrong usage (printed on standard error), else nothing.
[[nodiscard]] std::optional<int> parse_command_line(CLI::App& program, int argc, char** argv);

/// The body of main(): what a library throws, and standard output that cannot be written, becomes a
/// message and ExitCode::kFailed.
[[nodiscard]] int program_main(const std::string& name, const std::function<int()>& run);

}  // namespace gym::app
