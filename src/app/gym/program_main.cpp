#include "program_main.hpp"

#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

#include "cli_context.hpp"

namespace gym::app {
namespace {

/// Looked for by hand: a command line that does not parse has set no flag.
bool asks_for_json(int argc, char** argv) {
    return std::any_of(argv, argv + argc,
                       [](const char* word) { return std::string_view(word) == "--json"; });
}

}  // namespace

std::optional<int> parse_command_line(CLI::App& program, int argc, char** argv) {
    program.set_version_flag("--version", program.get_name() + " " GYM_VERSION);
    // Like every other error line of the program.
    program.failure_message([&program](const CLI::App* failed, const CLI::Error& error) {
        return program.get_name() + ": " + CLI::FailureMessage::simple(failed, error);
    });
    try {
        program.parse(argc, argv);
        return std::nullopt;
    } catch (const CLI::ParseError& error) {
        // --help comes this way too, with the code 0.
        if (error.get_exit_code() != 0 && asks_for_json(argc, argv)) {
            CliContext context{.json = true};
            context.finish(fail(ErrorCode::kInvalidArgument, error.what()));
            return static_cast<int>(context.exit_code);
        }
        return program.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
    }
}

int program_main(const std::string& name, const std::function<int()>& run) {
    // Keys and passphrases are in memory: no core file of them, and no look by other processes of
    // the user. (It cannot fail with this argument.)
    (void)::prctl(PR_SET_DUMPABLE, 0);
    try {
        return run();
    } catch (const std::exception& error) {
        (void)std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
        return static_cast<int>(ExitCode::kFailed);
    }
}

}  // namespace gym::app
