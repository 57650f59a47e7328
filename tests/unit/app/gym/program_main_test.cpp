#include "cli/program_main.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/cli_context.hpp"

namespace gym::app {
namespace {

TEST(ProgramMain, AProgramThatHoldsKeysLeavesNoCoreFile) {
    ASSERT_EQ(::prctl(PR_SET_DUMPABLE, 1), 0);
    EXPECT_EQ(program_main("program", [] { return ::prctl(PR_GET_DUMPABLE); }), 0);
    ASSERT_EQ(::prctl(PR_SET_DUMPABLE, 1), 0);
}

TEST(ProgramMain, AnExceptionIsAFailureAndNoCrash) {
    EXPECT_NE(program_main("program", []() -> int { throw std::runtime_error("broken"); }), 0);
}

TEST(ProgramMain, OutputThatCannotBeWrittenIsAFailure) {
    const int kept = ::dup(STDOUT_FILENO);
    ASSERT_NE(std::freopen("/dev/full", "w", stdout), nullptr);
    testing::internal::CaptureStderr();
    const int code = program_main("program", [] {
        std::printf("a key that is shown once\n");
        return 0;
    });
    const int refused = program_main("program", [] {
        std::printf("more\n");
        return 5;
    });
    const std::string said = testing::internal::GetCapturedStderr();
    std::clearerr(stdout);
    ::dup2(kept, STDOUT_FILENO);
    ::close(kept);
    EXPECT_EQ(code, 1);
    EXPECT_EQ(refused, 5) << "the command's own code";
    EXPECT_NE(said.find("program: standard output could not be written in full"), std::string::npos)
        << said;
}

TEST(ProgramMain, AnErrorThatEndsInALineFeedIsOneLine) {
    CliContext context;
    testing::internal::CaptureStderr();
    context.finish(fail(ErrorCode::kUnavailable, "FATAL: too many clients\nretry later\r\n\n"));
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "gym: FATAL: too many clients\nretry later\n");
    testing::internal::CaptureStderr();
    context.finish(fail(ErrorCode::kUnavailable, "\n"));
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "gym: \n");
}

TEST(ProgramMain, AWrongCommandLineIsAnErrorLineOfTheProgram) {
    CLI::App program{"about", "gym-x"};
    program.add_subcommand("sub", "about")->add_option("--count")->required();
    std::vector<std::string> words{"gym-x", "sub"};
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    testing::internal::CaptureStderr();
    EXPECT_EQ(parse_command_line(program, 2, arguments.data()), 2);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(said.starts_with("gym-x: --count is required")) << said;
}

/// What a program with one command, which needs --count, says to these words.
std::string said_to(std::vector<std::string> words) {
    CLI::App program{"about", "gym-x"};
    CLI::App* sub = program.add_subcommand("sub", "about");
    sub->add_option("--count")->required();
    sub->add_option("--max-cost");
    sub->add_flag("--json");
    words.insert(words.begin(), {"gym-x", "sub"});
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    EXPECT_EQ(parse_command_line(program, static_cast<int>(arguments.size()), arguments.data()), 2);
    return testing::internal::GetCapturedStderr() + testing::internal::GetCapturedStdout();
}

TEST(ProgramMain, AnUnknownOptionIsNamedBeforeAMissingOneWithWhatMayBeMeant) {
    EXPECT_TRUE(said_to({"--cuont", "3"})
                    .starts_with("gym-x: '--cuont' is not an option of `gym-x sub`; did you mean "
                                 "--count?"))
        << said_to({"--cuont", "3"});
    EXPECT_NE(said_to({"--max-csot=5"}).find("did you mean --max-cost?"), std::string::npos);
    EXPECT_NE(said_to({"--count", "3", "--banana"}).find("`gym-x sub --help` lists them"),
              std::string::npos);
    EXPECT_NE(said_to({"--cuont", "3", "--json"}).find("did you mean --count?"), std::string::npos)
        << "in JSON, too";
}

}  // namespace
}  // namespace gym::app
