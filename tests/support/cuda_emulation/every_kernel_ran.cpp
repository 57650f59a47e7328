// Fails a run of all tests of a program if a kernel of the PTX that it read never ran: such a
// kernel has lost its tests. A run of some tests, or one in which a test failed, shows nothing.
#include <gtest/gtest.h>

#include "ptx_run.hpp"

namespace gym::ptx {
namespace {

bool all_tests_ran() {
    const auto& unit = *::testing::UnitTest::GetInstance();
    return unit.Passed() &&
           unit.test_to_run_count() + unit.disabled_test_count() >= unit.total_test_count();
}

class EveryKernelRan : public ::testing::Environment {
    void TearDown() override {
        if (!all_tests_ran()) return;
        for (const std::string& name : kernels_that_never_ran())
            ADD_FAILURE() << "no test ran the PTX of the kernel " << name;
    }
};

[[maybe_unused]] const auto* const installed =
    ::testing::AddGlobalTestEnvironment(new EveryKernelRan);

}  // namespace
}  // namespace gym::ptx
