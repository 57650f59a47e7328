// Elementwise macros: compiled once a level (multiversion.hpp).
#include "cpu/macro_rows.hpp"
#include "cpu/ordinary.hpp"
#include "gym/kernels/programs.h"
#include "gym/kernels/rows.h"

namespace gym::kernels::GYM_KERNEL_ISA {

namespace {

constexpr float kGelu0 = 0x1.988454p+0f;  // 2 sqrt(2/pi)
constexpr float kGelu1 = 0x1.2444f2p-4f;  // that times 0.044715
constexpr float kGelu2 = 0x1.b6676cp-3f;  // three times as much

inline __attribute__((always_inline)) float gelu_grad(float x, float s, float dy) {
    const float square = x * x;
    const float u = f32::raw_fma(x * f32::raw_fma(square, kGelu2, kGelu0), 1.0f - s, 1.0f);
    return f32::mul(dy, s * u);
}

}  // namespace

void gelu_grad_range(const float* x, const float* dy, float* dx, MacroRange range) {
    map_blocks(
        range.begin, range.end, {0.0f, f32::kSigmoidOrdinaryMax}, dx,
        [=](int64_t i) __attribute__((always_inline)) {
            return x[i] * f32::raw_fma(x[i] * x[i], kGelu1, kGelu0);
        },
        [=](int64_t i, float w) __attribute__((always_inline)) {
            return gelu_grad(x[i], f32::sigmoid_ordinary(w), dy[i]);
        },
        [=](int64_t i, float w)
            __attribute__((always_inline)) { return gelu_grad(x[i], f32::sigmoid(w), dy[i]); });
}

void swiglu_range(const float* gate, const float* up, float* y, MacroRange range) {
    GYM_VECTOR_LOOP
    for (int64_t i = range.begin; i < range.end; ++i)
        y[i] = f32::mul(f32::silu(gate[i]), up[i]);
}

void swiglu_grad_range(const SwigluBackward& call, MacroRange range) {
    const SwigluBackward c = call;
    GYM_VECTOR_LOOP
    for (int64_t i = range.begin; i < range.end; ++i) {
        const float s = f32::sigmoid(c.gate[i]);
        const float u = f32::raw_fma(c.gate[i], 1.0f - s, 1.0f);
        c.d_gate[i] = f32::mul(c.dy[i] * c.up[i], s * u);
        c.d_up[i] = f32::mul(c.dy[i], f32::silu(c.gate[i]));
    }
}

void adamw_range(const AdamwStep& call, MacroRange range) {
    const AdamwStep c = call;
    GYM_VECTOR_LOOP
    for (int64_t i = range.begin; i < range.end; ++i) {
        const float h = c.g[i] * c.clip;
        const float m = f32::fma(c.m[i], c.beta1, h * c.one_minus_beta1);
        const float v = f32::fma(c.v[i], c.beta2, (h * h) * c.one_minus_beta2);
        const float u = (m * c.r1) / (f32::raw_sqrt(v * c.r2) + c.epsilon);
        const float decayed = f32::raw_fma(c.p[i], c.weight_decay, u);
        c.p_next[i] = f32::sub(c.p[i], c.learning_rate * decayed);
        c.m_next[i] = m;
        c.v_next[i] = v;
    }
}

void adamw_kept_range(const AdamwStep& call, MacroRange range) {
    const AdamwStep c = call;
    GYM_VECTOR_LOOP
    for (int64_t i = range.begin; i < range.end; ++i) {
        // All are read before any is written: an output may lie over another one's old value.
        const float p = c.p[i], m = c.m[i], v = c.v[i];
        c.p_next[i] = f32::canonical(p);
        c.m_next[i] = f32::canonical(m);
        c.v_next[i] = f32::canonical(v);
    }
}

void sum_tensors_range(const TensorSum& call, MacroRange range) {
    const TensorSum c = call;
    GYM_VECTOR_LOOP
    for (int64_t i = range.begin; i < range.end; ++i)
        c.out[i] = sum_of_element(c, i);
}

void random_mask_blocks(const int32_t* position, const RandomMask& mask, float* out, int64_t count,
                        MacroRange blocks) {
    for (int64_t b = blocks.begin; b < blocks.end; ++b) {
        const PhiloxBlock words = random_mask_words(position, mask.op, static_cast<uint64_t>(b));
        const int64_t left = count - 4 * b < 4 ? count - 4 * b : 4;
        for (int64_t i = 0; i < left; ++i)
            out[4 * b + i] = words.word[i] < mask.threshold ? 0.0f : mask.value;
    }
}

}  // namespace gym::kernels::GYM_KERNEL_ISA
