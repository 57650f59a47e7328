// Rotary positions and shared heads: one thread an output element.
#include "gym/kernels/cuda/macros.hpp"
#include "gym/kernels/rows.h"
#include "launch.cuh"

namespace gym::kernels::cuda {

namespace {

struct RopeElement {
    Rotation c;

    __device__ void operator()(int64_t i) const {
        const int64_t column = i % c.columns, size = 2 * c.half;
        if (column >= c.heads * size) {
            c.y[i] = c.x[i];
            return;
        }
        const int64_t within = column % size;
        const bool first = within < c.half;
        const int64_t angle =
            i / c.columns % c.context * c.half + (first ? within : within - c.half);
        const float straight = f32::mul(c.x[i], c.cosine[angle]);
        const float across = f32::mul(c.x[first ? i + c.half : i - c.half], c.sine[angle]);
        c.y[i] = first == c.inverse ? f32::add(straight, across) : f32::sub(straight, across);
    }
};

struct RepeatHeadsElement {
    HeadGroups shape;
    const float* few;
    float* many;

    __device__ void operator()(int64_t i) const {
        const int64_t row = i / many_columns(shape), column = i % many_columns(shape);
        const int64_t head = column / shape.size;
        const int64_t from =
            head < shape.heads ? head : shape.heads + (head - shape.heads) / heads_per_group(shape);
        many[i] = few[row * few_columns(shape) + from * shape.size + column % shape.size];
    }
};

struct RepeatHeadsGradElement {
    HeadGroups shape;
    const float* many;
    float* few;

    __device__ void operator()(int64_t i) const {
        const int64_t row = i / few_columns(shape), column = i % few_columns(shape);
        const int64_t head = column / shape.size, value = column % shape.size;
        const float* from = many + row * many_columns(shape) + value;
        if (head < shape.heads) {
            few[i] = from[head * shape.size];
            return;
        }
        const int64_t first = shape.heads + (head - shape.heads) * heads_per_group(shape);
        few[i] = exact_sum(from + first * shape.size, heads_per_group(shape), shape.size);
    }
};

}  // namespace

void macro_rope(Device& device, const Rotation& call) {
    for_each(device, call.rows * call.columns, RopeElement{call});
}

void macro_repeat_heads(Device& device, const HeadGroups& shape, const float* few, float* many) {
    for_each(device, shape.rows * many_columns(shape), RepeatHeadsElement{shape, few, many});
}

void macro_repeat_heads_grad(Device& device, const HeadGroups& shape, const float* many,
                             float* few) {
    for_each(device, shape.rows * few_columns(shape), RepeatHeadsGradElement{shape, many, few});
}

}  // namespace gym::kernels::cuda
