#pragma once

#include <functional>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace gym::app {

/// Parses the command line, which also has --version; callbacks run meanwhile.
/// @return the code to exit with after --help, --version or
/// wrong usage (which is told to the user), else nothing.
[[nodiscard]] std::optional<int> parse_command_line(CLI::App& program, int argc, char** argv);

/// The body of main(): what a library throws becomes a message and ExitCode::kFailed.
[[nodiscard]] int program_main(const std::string& name, const std::function<int()>& run);

}  // namespace gym::app
