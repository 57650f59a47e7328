// Movement and selection: one thread an output element.
#include "gym/kernels/cuda/primitives.hpp"
#include "gym/kernels/f32.h"
#include "launch.cuh"

namespace gym::kernels::cuda {

namespace {

__device__ inline int64_t clamped(int32_t index, int64_t count) {
    const int64_t low = index < 0 ? 0 : index;
    return low < count ? low : count - 1;
}

template <typename T>
struct StridedElement {
    const T* x;
    T* out;
    StridedLayout layout;

    __device__ void operator()(int64_t i) const {
        int64_t from = layout.offset;
        int64_t rest = i;
        for (int d = StridedLayout::kRankMax - 1; d >= 0; --d) {
            if (d >= layout.rank) continue;
            from += rest % layout.dims[d] * layout.strides[d];
            rest /= layout.dims[d];
        }
        out[i] = x[from];
    }
};

template <typename T>
void strided_copy_of(Device& device, const void* x, const StridedLayout& layout, void* out) {
    int64_t count = 1;
    for (int d = 0; d < layout.rank; ++d)
        count *= layout.dims[d];
    for_each(device, count,
             StridedElement<T>{static_cast<const T*>(x), static_cast<T*>(out), layout});
}

struct RowCopyElement {
    const uint16_t* x;
    uint16_t* out;
    int64_t length;  // in words of two bytes
    int64_t pitch;

    __device__ void operator()(int64_t i) const { out[i / length * pitch + i % length] = x[i]; }
};

struct GatherElement {
    const float* table;
    const int32_t* indices;
    int64_t rows;
    int64_t length;
    float* out;

    __device__ void operator()(int64_t i) const {
        out[i] = table[clamped(indices[i / length], rows) * length + i % length];
    }
};

struct PickElement {
    const float* x;
    const int32_t* indices;
    int64_t length;
    float* out;

    __device__ void operator()(int64_t r) const {
        out[r] = x[r * length + clamped(indices[r], length)];
    }
};

struct OneHotElement {
    const int32_t* indices;
    int64_t length;
    float* out;

    __device__ void operator()(int64_t i) const {
        out[i] = i % length == clamped(indices[i / length], length) ? 1.0f : 0.0f;
    }
};

struct CausalFillElement {
    const float* x;
    int64_t length;
    uint32_t bits;
    float* out;

    __device__ void operator()(int64_t i) const {
        const bool kept = i % length <= i / length % length;
        out[i] = kept ? x[i] : f32::canonical(f32::from_bits(bits));
    }
};

struct RandomMaskElement {
    const int32_t* position;
    RandomMask mask;
    float* out;

    __device__ void operator()(int64_t i) const {
        out[i] = random_mask_element(position, mask, static_cast<uint64_t>(i));
    }
};

}  // namespace

void random_mask(Device& device, const int32_t* position, RandomMask mask, float* out,
                 int64_t count) {
    for_each(device, count, RandomMaskElement{position, mask, out});
}

void strided_copy(Device& device, const void* x, const StridedLayout& layout, int element_bytes,
                  void* out) {
    if (element_bytes == 2) return strided_copy_of<uint16_t>(device, x, layout, out);
    if (element_bytes == 4) return strided_copy_of<uint32_t>(device, x, layout, out);
    strided_copy_of<uint64_t>(device, x, layout, out);
}

void copy_rows(Device& device, const void* x, RowCopy shape, void* out) {
    for_each(device, shape.rows * shape.bytes / 2,
             RowCopyElement{static_cast<const uint16_t*>(x), static_cast<uint16_t*>(out),
                            shape.bytes / 2, shape.pitch / 2});
}

void gather_rows(Device& device, const float* table, Rows table_shape, const int32_t* indices,
                 int64_t count, float* out) {
    for_each(device, count * table_shape.length,
             GatherElement{table, indices, table_shape.count, table_shape.length, out});
}

void pick(Device& device, const float* x, Rows shape, const int32_t* indices, float* out) {
    for_each(device, shape.count, PickElement{x, indices, shape.length, out});
}

void one_hot(Device& device, const int32_t* indices, Rows out_shape, float* out) {
    for_each(device, out_shape.count * out_shape.length,
             OneHotElement{indices, out_shape.length, out});
}

void causal_fill(Device& device, const float* x, Rows shape, uint32_t value_bits, float* out) {
    for_each(device, shape.count * shape.length,
             CausalFillElement{x, shape.length, value_bits, out});
}

}  // namespace gym::kernels::cuda
