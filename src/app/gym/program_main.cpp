#include "program_main.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli_context.hpp"

namespace gym::app {

std::optional<int> parse_command_line(CLI::App& program, int argc, char** argv) {
    try {
        program.parse(argc, argv);
        return std::nullopt;
    } catch (const CLI::ParseError& error) {
        return program.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
    }
}

int program_main(const std::string& name, const std::function<int()>& run) {
    try {
        return run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
        return static_cast<int>(ExitCode::kFailed);
    }
}

}  // namespace gym::app
