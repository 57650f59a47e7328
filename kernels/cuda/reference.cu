// One thread an element, by the shared headers alone: short, slow, and the definition on a device.
#include <cuda_runtime.h>

#include "gym/kernels/cuda_reference.hpp"
#include "gym/kernels/programs.h"
#include "gym/kernels/q14.h"

namespace gym::kernels::cuda {

namespace {

constexpr int kThreadsPerBlock = 128;
constexpr int64_t kBlocksMax = 1 << 16;

/// Memory of the device for the length of a call. A failure is kept and makes every later step a
/// no-op.
class DeviceCall {
  public:
    DeviceCall() = default;
    DeviceCall(const DeviceCall&) = delete;
    DeviceCall& operator=(const DeviceCall&) = delete;
    ~DeviceCall() {
        for (int i = 0; i < count_; ++i)
            cudaFree(arrays_[i]);
    }

    float* allocate(int64_t count) {
        void* memory = nullptr;
        note(cudaMalloc(&memory, bytes(count)));
        if (memory != nullptr) arrays_[count_++] = memory;
        return static_cast<float*>(memory);
    }
    float* upload(const float* host, int64_t count) {
        float* device = allocate(count);
        if (error_ == cudaSuccess && count > 0) {
            note(cudaMemcpy(device, host, bytes(count), cudaMemcpyHostToDevice));
        }
        return device;
    }
    void download(float* host, const float* device, int64_t count) {
        note(cudaGetLastError());
        if (error_ == cudaSuccess && count > 0) {
            note(cudaMemcpy(host, device, bytes(count), cudaMemcpyDeviceToHost));
        }
    }
    [[nodiscard]] bool ok() const { return error_ == cudaSuccess; }
    [[nodiscard]] std::string outcome() const {
        return ok() ? std::string() : cudaGetErrorString(error_);
    }

  private:
    static constexpr int kArraysMax = 4;

    // CUDA refuses no empty allocation, but gives no address for one.
    static size_t bytes(int64_t count) {
        return static_cast<size_t>(count > 0 ? count : 1) * sizeof(float);
    }
    void note(cudaError_t error) {
        if (error_ == cudaSuccess) error_ = error;
    }

    void* arrays_[kArraysMax] = {};
    int count_ = 0;
    cudaError_t error_ = cudaSuccess;
};

template <typename Element>
__global__ void for_each_element(Element element, int64_t count) {
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += step) {
        element(i);
    }
}

template <typename Element>
void launch(const DeviceCall& call, Element element, int64_t count) {
    if (!call.ok() || count == 0) return;
    const int64_t blocks = (count + kThreadsPerBlock - 1) / kThreadsPerBlock;
    for_each_element<<<static_cast<unsigned>(blocks < kBlocksMax ? blocks : kBlocksMax),
                       kThreadsPerBlock>>>(element, count);
}

struct UnaryElement {
    UnaryOp op;
    const float* x;
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
    const float* a;
    const float* b;
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
        }
        return f32::from_bits(f32::kNanBits);
    }
    __device__ void operator()(int64_t i) const { y[i] = value(a[i], b[i]); }
};

struct FmaElement {
    const float* a;
    const float* b;
    const float* c;
    float* y;

    __device__ void operator()(int64_t i) const { y[i] = f32::fma(a[i], b[i], c[i]); }
};

struct RowSumElement {
    const float* x;
    int64_t columns;
    float* y;

    __device__ void operator()(int64_t row) const {
        y[row] = exact_sum(x + row * columns, columns);
    }
};

struct ProductElement {
    const float* a;
    const float* b;
    ProductShape shape;
    float* out;

    __device__ void operator()(int64_t i) const {
        out[i] = q14_dot({a + i / shape.n * shape.k, shape.k, 1},
                         {b + i % shape.n * shape.k, shape.k, 1});
    }
};

}  // namespace

std::string unavailable_reason() {
    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess) return cudaGetErrorString(error);
    return devices > 0 ? std::string() : "no CUDA device";
}

std::string map_unary(UnaryOp op, const float* x, float* y, int64_t count) {
    DeviceCall call;
    const float* device_x = call.upload(x, count);
    float* device_y = call.allocate(count);
    launch(call, UnaryElement{op, device_x, device_y}, count);
    call.download(y, device_y, count);
    return call.outcome();
}

std::string map_binary(BinaryOp op, const float* a, const float* b, float* y, int64_t count) {
    DeviceCall call;
    const float* device_a = call.upload(a, count);
    const float* device_b = call.upload(b, count);
    float* device_y = call.allocate(count);
    launch(call, BinaryElement{op, device_a, device_b, device_y}, count);
    call.download(y, device_y, count);
    return call.outcome();
}

std::string map_fma(const float* a, const float* b, const float* c, float* y, int64_t count) {
    DeviceCall call;
    const float* device_a = call.upload(a, count);
    const float* device_b = call.upload(b, count);
    const float* device_c = call.upload(c, count);
    float* device_y = call.allocate(count);
    launch(call, FmaElement{device_a, device_b, device_c, device_y}, count);
    call.download(y, device_y, count);
    return call.outcome();
}

std::string row_sums(const float* x, int64_t rows, int64_t columns, float* y) {
    DeviceCall call;
    const float* device_x = call.upload(x, rows * columns);
    float* device_y = call.allocate(rows);
    launch(call, RowSumElement{device_x, columns, device_y}, rows);
    call.download(y, device_y, rows);
    return call.outcome();
}

std::string q14_product(const float* a, const float* b, ProductShape shape, float* out) {
    DeviceCall call;
    const float* device_a = call.upload(a, shape.m * shape.k);
    const float* device_b = call.upload(b, shape.n * shape.k);
    float* device_out = call.allocate(shape.m * shape.n);
    launch(call, ProductElement{device_a, device_b, shape, device_out}, shape.m * shape.n);
    call.download(out, device_out, shape.m * shape.n);
    return call.outcome();
}

}  // namespace gym::kernels::cuda
