#include <gtest/gtest.h>

#include "evm.hpp"
#include "float_cases.hpp"
#include "gym/kernels/float_environment.hpp"
#include "gym/kernels/programs.h"
#include "random_seed.hpp"

// contracts/src/numerics/Float32*.sol against kernels/include/gym/kernels, bit for bit.

namespace gym::testing {
namespace {

namespace f = kernels::f32;
using Case = std::array<std::uint32_t, 3>;

/// A function of NumericsHarness.one() and the C++ one that it must equal.
struct Function {
    std::uint64_t number;
    const char* name;
    CaseKind kind;
    std::uint64_t (*expected)(const Case&);
};

float first(const Case& c) {
    return f::from_bits(c[0]);
}
float second(const Case& c) {
    return f::from_bits(c[1]);
}

const Function kFunctions[] = {
    {0, "sqrt", CaseKind::one,
     [](const Case& c) -> std::uint64_t { return f::to_bits(f::sqrt(first(c))); }},
    {1, "rint", CaseKind::integer,
     [](const Case& c) -> std::uint64_t { return f::to_bits(f::rint(first(c))); }},
    {2, "toInt32", CaseKind::integer,
     [](const Case& c) -> std::uint64_t {
         return static_cast<std::uint32_t>(f::to_i32(first(c)));
     }},
    {3, "toInt64", CaseKind::integer,
     [](const Case& c) { return static_cast<std::uint64_t>(f::to_i64(first(c))); }},
    {4, "fromInt64", CaseKind::words,
     [](const Case& c) -> std::uint64_t {
         return f::to_bits(
             f::from_i64(static_cast<std::int64_t>(std::uint64_t{c[0]} << 32 | c[1])));
     }},
    {5, "neg", CaseKind::one,
     [](const Case& c) -> std::uint64_t { return f::to_bits(f::neg(first(c))); }},
    {6, "abs", CaseKind::one,
     [](const Case& c) -> std::uint64_t { return f::to_bits(f::abs(first(c))); }},
    {10, "add", CaseKind::sum,
     [](const Case& c) -> std::uint64_t { return f::to_bits(f::add(first(c), second(c))); }},
    {11, "sub", CaseKind::sum,
     [](const Case& c) -> std::uint64_t { return f::to_bits(f::sub(first(c), second(c))); }},
    {12, "mul", CaseKind::product,
     [](const Case& c) -> std::uint64_t { return f::to_bits(f::mul(first(c), second(c))); }},
    {13, "div", CaseKind::product,
     [](const Case& c) -> std::uint64_t { return f::to_bits(f::div(first(c), second(c))); }},
    {14, "fma", CaseKind::fma,
     [](const Case& c) -> std::uint64_t {
         return f::to_bits(f::fma(first(c), second(c), f::from_bits(c[2])));
     }},
    {15, "min", CaseKind::sum,
     [](const Case& c) -> std::uint64_t { return f::to_bits(f::min(first(c), second(c))); }},
    {16, "max", CaseKind::sum,
     [](const Case& c) -> std::uint64_t { return f::to_bits(f::max(first(c), second(c))); }},
    {17, "lt", CaseKind::sum,
     [](const Case& c) -> std::uint64_t { return f::less(first(c), second(c)) ? 1 : 0; }},
    {18, "le", CaseKind::sum,
     [](const Case& c) -> std::uint64_t { return f::less_equal(first(c), second(c)) ? 1 : 0; }},
    {19, "eq", CaseKind::sum,
     [](const Case& c) -> std::uint64_t { return f::equal(first(c), second(c)) ? 1 : 0; }},
    {20, "scale2", CaseKind::scale,
     [](const Case& c) -> std::uint64_t {
         return f::to_bits(f::scale2(first(c), static_cast<std::int32_t>(c[1])));
     }},
    {30, "exp", CaseKind::one,
     [](const Case& c) -> std::uint64_t { return f::to_bits(f::exp(first(c))); }},
    {31, "log", CaseKind::one,
     [](const Case& c) -> std::uint64_t { return f::to_bits(f::log(first(c))); }},
    {32, "tanh", CaseKind::one,
     [](const Case& c) -> std::uint64_t { return f::to_bits(f::tanh(first(c))); }},
    {33, "sigmoid", CaseKind::one,
     [](const Case& c) -> std::uint64_t { return f::to_bits(f::sigmoid(first(c))); }},
    {34, "silu", CaseKind::one,
     [](const Case& c) -> std::uint64_t { return f::to_bits(f::silu(first(c))); }},
    {35, "gelu", CaseKind::one,
     [](const Case& c) -> std::uint64_t { return f::to_bits(f::gelu(first(c))); }},
    {36, "rsqrt", CaseKind::one,
     [](const Case& c) -> std::uint64_t { return f::to_bits(f::rsqrt(first(c))); }},
};

Evm& evm() {
    static Evm one;
    return one;
}

class Float32OnChain : public ::testing::TestWithParam<Function> {};

TEST_P(Float32OnChain, GivesTheBitsOfTheKernels) {
    const kernels::ExactFloatEnvironment environment;
    const Function& function = GetParam();
    FloatCases source(random_seed());
    const std::uint64_t scale = test_scale();
    const std::size_t count = scale == 1 ? 2'000 : scale * 10'000;
    const std::vector<Case> cases = source.make(function.kind, count);
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

INSTANTIATE_TEST_SUITE_P(Numerics, Float32OnChain, ::testing::ValuesIn(kFunctions),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace gym::testing
