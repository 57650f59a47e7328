#include "gym/common/function_ref.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gym {
namespace {

int apply(FunctionRef<int(int)> function, int value) {
    return function(value);
}

int twice(int value) {
    return 2 * value;
}

TEST(FunctionRef, CallsWhatItRefersTo) {
    int calls = 0;
    const auto add = [&calls](int value) {
        ++calls;
        return value + calls;
    };
    EXPECT_EQ(apply(add, 10), 11);
    EXPECT_EQ(apply(add, 10), 12);
    EXPECT_EQ(apply([](int value) { return -value; }, 3), -3);
    const auto pointer = &twice;
    EXPECT_EQ(apply(pointer, 4), 8);
}

TEST(FunctionRef, ChangesTheCallableItself) {
    auto counter = [count = 0](int step) mutable { return count += step; };
    EXPECT_EQ(apply(counter, 2), 2);
    EXPECT_EQ(apply(counter, 3), 5);
}

TEST(FunctionRef, PassesReferencesAndDropsAResultThatNobodyAsksFor) {
    std::string text = "a";
    const auto append = [](std::string& to) {
        to += "b";
        return to.size();
    };
    const FunctionRef<void(std::string&)> reference = append;
    const FunctionRef<void(std::string&)> copy = reference;
    reference(text);
    copy(text);
    EXPECT_EQ(text, "abb");
}

}  // namespace
}  // namespace gym
