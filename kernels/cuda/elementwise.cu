// Elementwise primitives: one thread an element.
#include "gym/kernels/cuda/primitives.hpp"
#include "gym/kernels/programs.h"
#include "gym/kernels/rows.h"
#include "launch.cuh"

namespace gym::kernels::cuda {

namespace {

/// An operand with the divisions left out where there is nothing to divide.
struct Access {
    const float* data;
    int64_t divisor;
    int64_t period;
    bool whole;

    Access(Operand operand, int64_t count)
        : data(operand.data),
          divisor(operand.divisor),
          period(operand.period),
          whole(operand.divisor == 1 && operand.period == count) {}
    __device__ float operator[](int64_t i) const {
        if (whole) return data[i];
        if (period == 1) return data[0];
        return data[divisor == 1 ? i % period : i / divisor % period];
    }
};

struct UnaryElement {
    UnaryOp op;
    Access x;
    float* y;

    __device__ float value(float v) const {
        switch (op) {
            case UnaryOp::kNeg:
                return f32::neg(v);
            case UnaryOp::kAbs:
                return f32::abs(v);
            case UnaryOp::kSqrt:
                return f32::sqrt(v);
            case UnaryOp::kExp:
                return f32::exp(v);
            case UnaryOp::kLog:
                return f32::log(v);
            case UnaryOp::kTanh:
                return f32::tanh(v);
            case UnaryOp::kSigmoid:
                return f32::sigmoid(v);
            case UnaryOp::kSilu:
                return f32::silu(v);
            case UnaryOp::kGelu:
                return f32::gelu(v);
            case UnaryOp::kRsqrt:
                return f32::rsqrt(v);
        }
        return f32::from_bits(f32::kNanBits);
    }
    __device__ void operator()(int64_t i) const { y[i] = value(x[i]); }
};

struct BinaryElement {
    BinaryOp op;
    Access a;
    Access b;
    float* y;

    __device__ float value(float u, float v) const {
        switch (op) {
            case BinaryOp::kAdd:
                return f32::add(u, v);
            case BinaryOp::kSub:
                return f32::sub(u, v);
            case BinaryOp::kMul:
                return f32::mul(u, v);
            case BinaryOp::kDiv:
                return f32::div(u, v);
            case BinaryOp::kMax:
                return f32::max(u, v);
            case BinaryOp::kMin:
                return f32::min(u, v);
            case BinaryOp::kLessEqual:
                return f32::less_equal(u, v) ? 1.0f : 0.0f;
        }
        return f32::from_bits(f32::kNanBits);
    }
    __device__ void operator()(int64_t i) const { y[i] = value(a[i], b[i]); }
};

struct FmaElement {
    Access a;
    Access b;
    Access c;
    float* y;

    __device__ void operator()(int64_t i) const { y[i] = f32::fma(a[i], b[i], c[i]); }
};

struct SelectElement {
    Access c;
    Access a;
    Access b;
    float* y;

    __device__ void operator()(int64_t i) const { y[i] = f32::select(c[i] > 0.0f, a[i], b[i]); }
};

struct FillElement {
    uint32_t bits;
    float* y;

    __device__ void operator()(int64_t i) const { y[i] = f32::canonical(f32::from_bits(bits)); }
};

struct FinishSumElement {
    const int64_t* totals;
    const int32_t* exponents;
    int64_t exponent_count;
    float* out;

    __device__ void operator()(int64_t i) const {
        out[i] = sum_finish(totals[i], bounded_exponent(exponents[i % exponent_count]));
    }
};

}  // namespace

void map_unary(Device& device, UnaryOp op, Operand x, float* y, int64_t count) {
    for_each(device, count, UnaryElement{op, {x, count}, y});
}

void map_binary(Device& device, BinaryOp op, Operand a, Operand b, float* y, int64_t count) {
    for_each(device, count, BinaryElement{op, {a, count}, {b, count}, y});
}

void map_fma(Device& device, Operand a, Operand b, Operand c, float* y, int64_t count) {
    for_each(device, count, FmaElement{{a, count}, {b, count}, {c, count}, y});
}

void select(Device& device, Operand c, Operand a, Operand b, float* y, int64_t count) {
    for_each(device, count, SelectElement{{c, count}, {a, count}, {b, count}, y});
}

void fill(Device& device, uint32_t bits, float* y, int64_t count) {
    for_each(device, count, FillElement{bits, y});
}

void finish_sum(Device& device, const int64_t* totals, const int32_t* exponents,
                int64_t exponent_count, float* out, int64_t count) {
    for_each(device, count, FinishSumElement{totals, exponents, exponent_count, out});
}

}  // namespace gym::kernels::cuda
