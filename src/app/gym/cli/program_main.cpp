#include "cli/program_main.hpp"

#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/cli_context.hpp"
#include "gym/common/near_words.hpp"
#include "gym/common/printable.hpp"

namespace gym::app {
namespace {

constexpr std::size_t kEditsMax = 2;  // of a mistyped word
constexpr std::size_t kNearMax = 3;

/// Looked for by hand: a command line that does not parse has set no flag.
bool asks_for_json(int argc, char** argv) {
    return std::any_of(argv, argv + argc,
                       [](const char* word) { return std::string_view(word) == "--json"; });
}

/// "; did you mean 'start'?" with the nearest commands, or what there is.
std::string suggestion(const CLI::App& group, const std::string& command, std::string_view word) {
    std::string near, all;
    std::size_t nearest = kEditsMax;
    for (const CLI::App* sub : group.get_subcommands(nullptr)) {
        const std::string& name = sub->get_name();
        all += (all.empty() ? "" : ", ") + name;
        const bool begins = word.size() > 1 && name.starts_with(word);
        const std::size_t edits = begins ? 0 : edits_between(word, name);
        if (edits > std::min(nearest, name.size() / 2)) continue;
        if (edits < nearest) near.clear();
        nearest = edits;
        near += (near.empty() ? "'" : " or '") + name + "'";
    }
    return near.empty() ? "; it has " + all + " (`" + command + " --help`)"
                        : "; did you mean " + near + "?";
}

/// Which word stands where a subcommand belongs; empty if that is not what is wrong. CLI11 says
/// only that a subcommand is missing, or that a word was not expected.
std::string unknown_subcommand(const CLI::App& program, std::span<char* const> words) {
    const std::vector<std::string> left = program.remaining(true);
    if (left.empty() || left[0].starts_with('-')) return {};
    const auto unknown = std::ranges::find(words, std::string_view(left[0]));
    const CLI::App* group = &program;
    std::string command = program.get_name();
    while (!group->get_subcommands().empty()) {
        const CLI::App* next = group->get_subcommands().front();
        // In `gym nod start`, `start` is a command, and yet `nod` is the word that is wrong.
        if (unknown < std::ranges::find(words, std::string_view(next->get_name()))) break;
        group = next;
        command += " " + group->get_name();
    }
    if (group->get_require_subcommand_min() == 0) return {};
    return "'" + left[0] + "' is not a command of `" + command + "`" +
           suggestion(*group, command, left[0]);
}

/// Words as they are meant: `help job submit` is `job submit --help`, `version` is `--version`.
std::vector<std::string> meant_words(int argc, char** argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (words.empty()) return words;
    if (words.front() == "version") words.front() = "--version";
    if (words.front() == "help") {
        words.erase(words.begin());
        words.emplace_back("--help");
    }
    return words;
}

/// Which word looks like an option and is none; empty if that is not what is wrong. CLI11 asks for
/// required options first, of which the mistyped one may be one.
std::string unknown_option(const CLI::App& program) {
    const std::vector<std::string> left = program.remaining(true);
    const auto unknown = std::ranges::find_if(
        left, [](const std::string& word) { return word.size() > 1 && word.starts_with('-'); });
    if (unknown == left.end()) return {};
    const std::string word = unknown->substr(0, unknown->find('='));
    const CLI::App* group = &program;
    std::string command = program.get_name();
    while (!group->get_subcommands().empty()) {
        group = group->get_subcommands().front();
        command += " " + group->get_name();
    }
    std::vector<std::string> names;
    for (const CLI::App* app : {&program, group})
        for (const CLI::Option* option : app->get_options())
            for (const std::string& name : option->get_lnames())
                names.push_back("--" + name);
    if (std::ranges::find(names, word) != names.end())
        return "'" + word + "' stands before the command: options come after it, as in `" +
               command + " " + word + " ...`";
    const std::vector<std::string_view> known(names.begin(), names.end());
    std::string near;
    for (const std::string_view one : near_words(word, known, kNearMax))
        if (near.find(one) == std::string::npos)
            near += (near.empty() ? "; did you mean " : " or ") + std::string(one);
    return "'" + word + "' is not an option of `" + command + "`" +
           (near.empty() ? "; `" + command + " --help` lists them" : near + "?");
}

/// What is wrong with a command line, where CLI11 says it less clearly; empty: CLI11 says it.
std::string plain_reason(const CLI::App& program, std::span<char* const> words) {
    const std::string command = unknown_subcommand(program, words);
    return command.empty() ? unknown_option(program) : command;
}

/// CLI11's "Could not convert: --steps = -1" as a sentence; other messages as they are.
std::string plain_words(const std::string& message) {
    constexpr std::string_view kBegin = "Could not convert: ", kEquals = " = ";
    const std::size_t equals = message.find(kEquals);
    if (!message.starts_with(kBegin) || equals == std::string::npos) return message;
    const std::string option = message.substr(kBegin.size(), equals - kBegin.size());
    const std::size_t value = equals + kEquals.size(), end = message.find('\n', value);
    return "'" + message.substr(value, end - value) + "' is not a value that " + option + " takes" +
           (end == std::string::npos ? "" : message.substr(end));
}

/// What was printed may still be in the buffer: that its disk is full shows only here.
int with_output_written(const std::string& name, int code) {
    const bool flushed = std::fflush(stdout) == 0;
    if (flushed && std::ferror(stdout) == 0) return code;
    (void)std::fprintf(stderr,
                       "%s: standard output could not be written in full (is its disk full, or is "
                       "it closed?): what this command printed is not complete\n",
                       name.c_str());
    return code == 0 ? static_cast<int>(ExitCode::kFailed) : code;
}

}  // namespace

std::optional<int> parse_command_line(CLI::App& program, int argc, char** argv) {
    program.set_version_flag("--version", program.get_name() + " " GYM_VERSION);
    // Like every other error line of the program.
    const std::span<char* const> words(argv, static_cast<std::size_t>(argc));
    program.failure_message([&program, words](const CLI::App* failed, const CLI::Error& error) {
        const std::string unknown = plain_reason(program, words);
        if (!unknown.empty()) return program.get_name() + ": " + unknown + "\n";
        return program.get_name() + ": " + plain_words(CLI::FailureMessage::simple(failed, error));
    });
    try {
        std::vector<std::string> meant = meant_words(argc, argv);
        std::ranges::reverse(meant);  // as CLI11 takes them
        program.parse(std::move(meant));
        return std::nullopt;
    } catch (const CLI::ParseError& error) {
        // --help comes this way too, with the code 0.
        if (error.get_exit_code() != 0 && asks_for_json(argc, argv)) {
            CliContext context{.json = true};
            const std::string unknown = plain_reason(program, words);
            context.finish(
                fail(ErrorCode::kInvalidArgument, unknown.empty() ? error.what() : unknown));
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
        return with_output_written(name, run());
    } catch (const std::exception& error) {
        (void)std::fprintf(stderr, "%s: %s\n", name.c_str(),
                           without_controls(error.what()).c_str());
        return static_cast<int>(ExitCode::kFailed);
    }
}

}  // namespace gym::app
