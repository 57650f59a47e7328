// Elementwise macros: one thread an element.
#include "gym/kernels/cuda/macros.hpp"
#include "gym/kernels/programs.h"
#include "launch.cuh"

namespace gym::kernels::cuda {

namespace {

struct GeluGradElement {
    const float* x;
    const float* dy;
    float* dx;

    __device__ void operator()(int64_t i) const {
        const float c0 = f32::from_bits(0x3FCC422Au);  // 2 sqrt(2/pi)
        const float c1 = f32::from_bits(0x3D922279u);  // c0 * 0.044715
        const float c2 = f32::from_bits(0x3E5B33B6u);  // 3 c1
        const float square = x[i] * x[i];
        const float s = f32::sigmoid(x[i] * f32::raw_fma(square, c1, c0));
        const float u = f32::raw_fma(x[i] * f32::raw_fma(square, c2, c0), 1.0f - s, 1.0f);
        dx[i] = f32::mul(dy[i], s * u);
    }
};

struct SwigluElement {
    const float* gate;
    const float* up;
    float* y;

    __device__ void operator()(int64_t i) const { y[i] = f32::mul(f32::silu(gate[i]), up[i]); }
};

struct SwigluGradElement {
    SwigluBackward c;

    __device__ void operator()(int64_t i) const {
        const float gate = c.gate[i], dy = c.dy[i];
        const float s = f32::sigmoid(gate);
        const float u = f32::raw_fma(gate, 1.0f - s, 1.0f);
        c.d_gate[i] = f32::mul(dy * c.up[i], s * u);
        c.d_up[i] = f32::mul(dy, f32::silu(gate));
    }
};

}  // namespace

void macro_gelu_grad(Device& device, const float* x, const float* dy, float* dx, int64_t count) {
    for_each(device, count, GeluGradElement{x, dy, dx});
}

void macro_swiglu(Device& device, const float* gate, const float* up, float* y, int64_t count) {
    for_each(device, count, SwigluElement{gate, up, y});
}

void macro_swiglu_grad(Device& device, const SwigluBackward& call) {
    for_each(device, call.count, SwigluGradElement{call});
}

}  // namespace gym::kernels::cuda
