#pragma once

#include "float_cases.hpp"
#include "gym/kernels/programs.h"

namespace gym::testing {

using FloatCase = std::array<std::uint32_t, 3>;

/// A function of NumericsHarness.one(), its operands' bits, and what the kernels give for them.
struct FloatFunction {
    std::uint64_t number;
    const char* name;
    CaseKind kind;
    std::uint64_t (*expected)(const FloatCase&);
};

namespace float_functions {

namespace f = kernels::f32;

inline float first(const FloatCase& c) {
    return f::from_bits(c[0]);
}
inline float second(const FloatCase& c) {
    return f::from_bits(c[1]);
}

inline const FloatFunction kAll[] = {
    {0, "sqrt", CaseKind::kOne,
     [](const FloatCase& c) -> std::uint64_t { return f::to_bits(f::sqrt(first(c))); }},
    {1, "rint", CaseKind::kInteger,
     [](const FloatCase& c) -> std::uint64_t { return f::to_bits(f::rint(first(c))); }},
    {2, "toInt32", CaseKind::kInteger,
     [](const FloatCase& c) -> std::uint64_t {
         return static_cast<std::uint32_t>(f::to_i32(first(c)));
     }},
    {3, "toInt64", CaseKind::kInteger,
     [](const FloatCase& c) { return static_cast<std::uint64_t>(f::to_i64(first(c))); }},
    {4, "fromInt64", CaseKind::kWords,
     [](const FloatCase& c) -> std::uint64_t {
         return f::to_bits(
             f::from_i64(static_cast<std::int64_t>(std::uint64_t{c[0]} << 32 | c[1])));
     }},
    {5, "neg", CaseKind::kOne,
     [](const FloatCase& c) -> std::uint64_t { return f::to_bits(f::neg(first(c))); }},
    {6, "abs", CaseKind::kOne,
     [](const FloatCase& c) -> std::uint64_t { return f::to_bits(f::abs(first(c))); }},
    {10, "add", CaseKind::kSum,
     [](const FloatCase& c) -> std::uint64_t { return f::to_bits(f::add(first(c), second(c))); }},
    {11, "sub", CaseKind::kSum,
     [](const FloatCase& c) -> std::uint64_t { return f::to_bits(f::sub(first(c), second(c))); }},
    {12, "mul", CaseKind::kProduct,
     [](const FloatCase& c) -> std::uint64_t { return f::to_bits(f::mul(first(c), second(c))); }},
    {13, "div", CaseKind::kProduct,
     [](const FloatCase& c) -> std::uint64_t { return f::to_bits(f::div(first(c), second(c))); }},
    {14, "fma", CaseKind::kFma,
     [](const FloatCase& c) -> std::uint64_t {
         return f::to_bits(f::fma(first(c), second(c), f::from_bits(c[2])));
     }},
    {15, "min", CaseKind::kSum,
     [](const FloatCase& c) -> std::uint64_t { return f::to_bits(f::min(first(c), second(c))); }},
    {16, "max", CaseKind::kSum,
     [](const FloatCase& c) -> std::uint64_t { return f::to_bits(f::max(first(c), second(c))); }},
    {17, "lt", CaseKind::kSum,
     [](const FloatCase& c) -> std::uint64_t { return f::less(first(c), second(c)) ? 1 : 0; }},
    {18, "le", CaseKind::kSum,
     [](const FloatCase& c) -> std::uint64_t {
         return f::less_equal(first(c), second(c)) ? 1 : 0;
     }},
    {19, "eq", CaseKind::kSum,
     [](const FloatCase& c) -> std::uint64_t { return f::equal(first(c), second(c)) ? 1 : 0; }},
    {20, "scale2", CaseKind::kScale,
     [](const FloatCase& c) -> std::uint64_t {
         return f::to_bits(f::scale2(first(c), static_cast<std::int32_t>(c[1])));
     }},
    {30, "exp", CaseKind::kOne,
     [](const FloatCase& c) -> std::uint64_t { return f::to_bits(f::exp(first(c))); }},
    {31, "log", CaseKind::kOne,
     [](const FloatCase& c) -> std::uint64_t { return f::to_bits(f::log(first(c))); }},
    {32, "tanh", CaseKind::kOne,
     [](const FloatCase& c) -> std::uint64_t { return f::to_bits(f::tanh(first(c))); }},
    {33, "sigmoid", CaseKind::kOne,
     [](const FloatCase& c) -> std::uint64_t { return f::to_bits(f::sigmoid(first(c))); }},
    {34, "silu", CaseKind::kOne,
     [](const FloatCase& c) -> std::uint64_t { return f::to_bits(f::silu(first(c))); }},
    {35, "gelu", CaseKind::kOne,
     [](const FloatCase& c) -> std::uint64_t { return f::to_bits(f::gelu(first(c))); }},
    {36, "rsqrt", CaseKind::kOne,
     [](const FloatCase& c) -> std::uint64_t { return f::to_bits(f::rsqrt(first(c))); }},
};

}  // namespace float_functions

}  // namespace gym::testing
