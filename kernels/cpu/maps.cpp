// Elementwise maps: compiled once a level (multiversion.hpp).
#include "cpu/maps.hpp"

#include "cpu/ordinary.hpp"
#include "gym/kernels/programs.h"

namespace gym::kernels::GYM_KERNEL_ISA {

namespace {

template <typename F>
inline __attribute__((always_inline)) void map1(const float* x, float* y, int64_t count, F f) {
    GYM_VECTOR_LOOP
    for (int64_t i = 0; i < count; ++i)
        y[i] = f(x[i]);
}

template <typename Ordinary, typename Full>
inline __attribute__((always_inline)) void map1(const float* x, float* y, int64_t count,
                                                OrdinaryRange range, Ordinary ordinary, Full full) {
    map_blocks(
        0, count, range, y, [x](int64_t i) __attribute__((always_inline)) { return x[i]; },
        [=](int64_t, float v) __attribute__((always_inline)) { return ordinary(v); },
        [=](int64_t, float v) __attribute__((always_inline)) { return full(v); });
}

template <typename F>
inline __attribute__((always_inline)) void map2(const float* a, const float* b, float* y,
                                                int64_t count, F f) {
    GYM_VECTOR_LOOP
    for (int64_t i = 0; i < count; ++i)
        y[i] = f(a[i], b[i]);
}

template <typename Loop>
inline __attribute__((always_inline)) void with_binary(BinaryOp op, Loop loop) {
    switch (op) {
        case BinaryOp::kAdd:
            return loop([](float a, float b) { return f32::add(a, b); });
        case BinaryOp::kSub:
            return loop([](float a, float b) { return f32::sub(a, b); });
        case BinaryOp::kMul:
            return loop([](float a, float b) { return f32::mul(a, b); });
        case BinaryOp::kDiv:
            return loop([](float a, float b) { return f32::div(a, b); });
        case BinaryOp::kMax:
            return loop([](float a, float b) { return f32::max(a, b); });
        case BinaryOp::kMin:
            return loop([](float a, float b) { return f32::min(a, b); });
        case BinaryOp::kLessEqual:
            return loop([](float a, float b) { return f32::less_equal(a, b) ? 1.0f : 0.0f; });
    }
}

}  // namespace

void map_unary(UnaryOp op, const float* x, float* y, int64_t count) {
    switch (op) {
        case UnaryOp::kNeg:
            return map1(x, y, count, [](float v) { return f32::neg(v); });
        case UnaryOp::kAbs:
            return map1(x, y, count, [](float v) { return f32::abs(v); });
        case UnaryOp::kSqrt:
            return map1(x, y, count, [](float v) { return f32::sqrt(v); });
        case UnaryOp::kExp:
            return map1(
                x, y, count, {0.0f, f32::kExpOrdinaryMax},
                [](float v) { return f32::exp_ordinary(v); }, [](float v) { return f32::exp(v); });
        case UnaryOp::kLog:
            return map1(x, y, count, [](float v) { return f32::log(v); });
        case UnaryOp::kTanh:
            return map1(x, y, count, [](float v) { return f32::tanh(v); });
        case UnaryOp::kSigmoid:
            return map1(
                x, y, count, {0.0f, f32::kSigmoidOrdinaryMax},
                [](float v) { return f32::sigmoid_ordinary(v); },
                [](float v) { return f32::sigmoid(v); });
        case UnaryOp::kSilu:
            return map1(x, y, count, [](float v) { return f32::silu(v); });
        case UnaryOp::kGelu:
            return map1(
                x, y, count, {f32::kGeluOrdinaryMin, f32::kGeluOrdinaryMax},
                [](float v) { return f32::gelu_ordinary(v); },
                [](float v) { return f32::gelu(v); });
        case UnaryOp::kRsqrt:
            return map1(x, y, count, [](float v) { return f32::rsqrt(v); });
    }
}

void map_binary(BinaryOp op, const float* a, const float* b, float* y, int64_t count) {
    with_binary(op, [=](auto f) { map2(a, b, y, count, f); });
}

void map_binary_scalar(BinaryOp op, const float* a, float b, float* y, int64_t count) {
    with_binary(op, [=](auto f) { map1(a, y, count, [=](float v) { return f(v, b); }); });
}

void map_fma(const float* a, const float* b, const float* c, float* y, int64_t count) {
    GYM_VECTOR_LOOP
    for (int64_t i = 0; i < count; ++i)
        y[i] = f32::fma(a[i], b[i], c[i]);
}

void map_fma_scalar(const float* a, float b, const float* c, float* y, int64_t count) {
    GYM_VECTOR_LOOP
    for (int64_t i = 0; i < count; ++i)
        y[i] = f32::fma(a[i], b, c[i]);
}

void map_exp_shifted(const float* x, float shift, float* y, int64_t count) {
    map1(x, y, count, [=](float v) { return f32::exp(v - shift); });
}

}  // namespace gym::kernels::GYM_KERNEL_ISA
