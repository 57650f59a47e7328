#include <gtest/gtest.h>

#include "evm.hpp"
#include "float_functions.hpp"
#include "gym/kernels/float_environment.hpp"
#include "random_seed.hpp"

// contracts/src/numerics/Float32*.sol against kernels/include/gym/kernels, bit for bit.

namespace gym::testing {
namespace {

using float_functions::kAll;

Evm& evm() {
    static Evm one;
    return one;
}

class Float32OnChain : public ::testing::TestWithParam<FloatFunction> {};

TEST_P(Float32OnChain, GivesTheBitsOfTheKernels) {
    const kernels::ExactFloatEnvironment environment;
    const FloatFunction& function = GetParam();
    FloatCases source(random_seed());
    const std::uint64_t scale = test_scale();
    const std::size_t count = scale == 1 ? 2'000 : scale * 10'000;
    const std::vector<FloatCase> cases = source.make(function.kind, count);
    const std::vector<std::uint64_t> actual = evm().numbers(function.number, cases);
    int shown = 0;
    for (std::size_t i = 0; i < cases.size() && shown < 5; ++i) {
        const std::uint64_t expected = function.expected(cases[i]);
        if (actual[i] == expected) continue;
        ++shown;
        ADD_FAILURE() << std::hex << function.name << " of " << cases[i][0] << " " << cases[i][1]
                      << " " << cases[i][2] << ": " << actual[i] << ", not " << expected;
    }
}

INSTANTIATE_TEST_SUITE_P(Numerics, Float32OnChain, ::testing::ValuesIn(kAll),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace gym::testing
