#include "program_main.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <stdexcept>

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

}  // namespace
}  // namespace gym::app
