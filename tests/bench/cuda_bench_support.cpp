#include "cuda_bench_support.hpp"

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench_support.hpp"

namespace gym::bench {
namespace {

constexpr double kSecondsPerTurn = 0.02;

[[noreturn]] void stop(const std::string& why) {
    std::fprintf(stderr, "bench_cuda: %s\n", why.c_str());
    std::exit(1);
}

void must(cudaError_t error) {
    if (error != cudaSuccess) stop(cudaGetErrorString(error));
}

void must(cublasStatus_t status, const char* what) {
    if (status != CUBLAS_STATUS_SUCCESS)
        stop(std::string(what) + ": " + cublasGetStatusString(status));
}

cudaStream_t stream_of(kernels::cuda::Device& device) {
    return static_cast<cudaStream_t>(device.stream());
}

/// Uniform in [-1, 1).
std::vector<float> random_numbers(std::int64_t count, std::uint32_t seed) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) {
        seed = seed * 1664525U + 1013904223U;
        value = static_cast<float>(seed >> 8) * 0x1p-23F - 1.0F;
    }
    return values;
}

/// Between two events; the host waits for the second one.
class Stopwatch {
  public:
    explicit Stopwatch(cudaStream_t stream) : stream_(stream) {
        must(cudaEventCreate(&begin_));
        must(cudaEventCreate(&end_));
    }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;
    ~Stopwatch() {
        cudaEventDestroy(begin_);
        cudaEventDestroy(end_);
    }
    double seconds(const std::function<void()>& call, int times) {
        must(cudaEventRecord(begin_, stream_));
        for (int i = 0; i < times; ++i)
            call();
        must(cudaEventRecord(end_, stream_));
        must(cudaEventSynchronize(end_));
        float milliseconds = 0;
        must(cudaEventElapsedTime(&milliseconds, begin_, end_));
        return static_cast<double>(milliseconds) * 1e-3;
    }

  private:
    cudaStream_t stream_;
    cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

struct CublasPeer::Impl {
    /// One operand in every type.
    struct Operand {
        void *f32 = nullptr, *bf16 = nullptr, *i8 = nullptr;
    };
    explicit Impl(kernels::cuda::Device& d) : device(d) {}

    void* allocate(std::size_t bytes) {
        void* const data = device.allocate(bytes);
        if (data == nullptr) stop(device.error());
        return data;
    }
    Operand operand(std::int64_t elements, std::uint32_t seed) {
        const std::vector<float> values = random_numbers(elements, seed);
        std::vector<std::uint16_t> bf16;
        std::vector<std::int8_t> i8;
        for (const float value : values) {
            bf16.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16));
            i8.push_back(static_cast<std::int8_t>(value * 64.0F));
        }
        Operand made{allocate(values.size() * sizeof values[0]),
                     allocate(bf16.size() * sizeof bf16[0]), allocate(i8.size())};
        device.upload(made.f32, values.data(), values.size() * sizeof values[0]);
        device.upload(made.bf16, bf16.data(), bf16.size() * sizeof bf16[0]);
        device.upload(made.i8, i8.data(), i8.size());
        device.synchronize();
        return made;
    }

    kernels::cuda::Device& device;
    Operand a, b;
    void* out = nullptr;
    cublasHandle_t handle = nullptr;
};

CublasPeer::CublasPeer(kernels::cuda::Device& device, std::int64_t elements)
    : impl_(std::make_unique<Impl>(device)) {
    impl_->a = impl_->operand(elements, 1);
    impl_->b = impl_->operand(elements, 2);
    impl_->out = impl_->allocate(static_cast<std::size_t>(elements) * sizeof(float));
    must(cublasCreate(&impl_->handle), "cublasCreate");
    must(cublasSetStream(impl_->handle, stream_of(device)), "cublasSetStream");
}

CublasPeer::~CublasPeer() {
    cublasDestroy(impl_->handle);
}

const float* CublasPeer::a() const {
    return static_cast<const float*>(impl_->a.f32);
}
const float* CublasPeer::b() const {
    return static_cast<const float*>(impl_->b.f32);
}
float* CublasPeer::out() const {
    return static_cast<float*>(impl_->out);
}

void CublasPeer::multiply(Precision precision, std::int64_t m, std::int64_t n, std::int64_t k) {
    const void *a = impl_->a.f32, *b = impl_->b.f32;
    cudaDataType_t type = CUDA_R_32F, out_type = CUDA_R_32F;
    cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
    if (precision == Precision::kTf32) compute = CUBLAS_COMPUTE_32F_FAST_TF32;
    if (precision == Precision::kBf16) {
        type = CUDA_R_16BF;
        a = impl_->a.bf16;
        b = impl_->b.bf16;
    }
    if (precision == Precision::kI8) {
        type = CUDA_R_8I;
        out_type = CUDA_R_32I;
        compute = CUBLAS_COMPUTE_32I;
        a = impl_->a.i8;
        b = impl_->b.i8;
    }
    constexpr float kOne = 1, kZero = 0;
    constexpr std::int32_t kIntegerOne = 1, kIntegerZero = 0;
    const bool integers = precision == Precision::kI8;
    const void* const alpha = integers ? static_cast<const void*>(&kIntegerOne) : &kOne;
    const void* const beta = integers ? static_cast<const void*>(&kIntegerZero) : &kZero;
    const auto rows = static_cast<int>(m), columns = static_cast<int>(n),
               length = static_cast<int>(k);
    // Column-major, so the transpose of ours: out^T (n, m) = b (n, k) * a^T (k, m).
    must(cublasGemmEx(impl_->handle, CUBLAS_OP_T, CUBLAS_OP_N, columns, rows, length, alpha, b,
                      type, length, a, type, length, beta, impl_->out, out_type, columns, compute,
                      CUBLAS_GEMM_DEFAULT),
         "cublasGemmEx");
}

std::vector<double> device_seconds(kernels::cuda::Device& device,
                                   std::span<const std::function<void()>> calls, int repeats) {
    Stopwatch watch(stream_of(device));
    std::vector<int> calls_per_turn;
    for (const auto& call : calls) {
        watch.seconds(call, 1);  // scratch memory, libraries' own choices
        const double once = std::max(watch.seconds(call, 3) / 3, 1e-6);
        calls_per_turn.push_back(std::max(1, static_cast<int>(kSecondsPerTurn / once)));
    }
    std::vector<std::vector<double>> timings(calls.size());
    for (int repeat = 0; repeat < repeats; ++repeat) {
        for (std::size_t i = 0; i < calls.size(); ++i) {
            calls[i]();
            timings[i].push_back(watch.seconds(calls[i], calls_per_turn[i]) / calls_per_turn[i]);
        }
    }
    if (!device.ok()) stop(device.error());
    std::vector<double> medians;
    for (const auto& timing : timings)
        medians.push_back(median(timing));
    return medians;
}

}  // namespace gym::bench
