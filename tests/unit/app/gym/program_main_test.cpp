#include "cli/program_main.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <stdexcept>
#include <string>
#include <vector>

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

}  // namespace
}  // namespace gym::app
