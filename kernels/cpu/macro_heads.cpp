// Rotary positions: compiled once a level (multiversion.hpp).
#include "cpu/macro_rows.hpp"
#include "gym/kernels/f32.h"

namespace gym::kernels::GYM_KERNEL_ISA {

namespace {

/// A head is two halves; `sine` has the sign of the direction.
inline __attribute__((always_inline)) void turn_head(const float* x, const float* cosine,
                                                     const float* sine, int64_t half, bool inverse,
                                                     float* y) {
    const float* second = x + half;
    float* y_second = y + half;
    if (inverse) {
        GYM_VECTOR_LOOP
        for (int64_t i = 0; i < half; ++i) {
            y[i] = f32::add(x[i] * cosine[i], second[i] * sine[i]);
            y_second[i] = f32::sub(second[i] * cosine[i], x[i] * sine[i]);
        }
    } else {
        GYM_VECTOR_LOOP
        for (int64_t i = 0; i < half; ++i) {
            y[i] = f32::sub(x[i] * cosine[i], second[i] * sine[i]);
            y_second[i] = f32::add(second[i] * cosine[i], x[i] * sine[i]);
        }
    }
}

}  // namespace

void rope_rows(const Rotation& call, MacroRange rows) {
    const int64_t size = 2 * call.half;
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const float* x = call.x + r * call.columns;
        float* y = call.y + r * call.columns;
        const int64_t position = r % call.context * call.half;
        for (int64_t h = 0; h < call.heads; ++h)
            turn_head(x + h * size, call.cosine + position, call.sine + position, call.half,
                      call.inverse, y + h * size);
        for (int64_t i = call.heads * size; i < call.columns; ++i)
            y[i] = x[i];
    }
}

}  // namespace gym::kernels::GYM_KERNEL_ISA
