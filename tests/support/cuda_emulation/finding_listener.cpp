// Fails every test during which the emulation found something.
#include <gtest/gtest.h>

#include "findings.hpp"

namespace gym::emulation {
namespace {

class FindingListener : public ::testing::EmptyTestEventListener {
    void OnTestEnd(const ::testing::TestInfo&) override {
        for (const Finding& finding : take_findings())
            ADD_FAILURE() << finding.text;
    }
};

[[maybe_unused]] const bool installed = [] {
    ::testing::UnitTest::GetInstance()->listeners().Append(new FindingListener);
    return true;
}();

}  // namespace
}  // namespace gym::emulation
