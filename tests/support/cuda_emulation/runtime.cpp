#include "runtime.hpp"

#include <cuda_runtime_api.h>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "checked_memory.hpp"
#include "emulation.hpp"
#include "findings.hpp"
#include "ptx_run.hpp"

namespace gym::emulation::runtime {
namespace {

constexpr std::size_t kMemoryBytes = std::size_t{24} << 30;

struct Stream {
    int device;
    std::deque<std::function<void()>> work;
};
struct Allocation {
    int device;
    std::size_t bytes;
};

/// What all threads share, under `mutex`.
struct Runtime {
    std::mutex mutex;
    std::map<const void*, Allocation> memory;
    std::vector<std::unique_ptr<Stream>> streams;
    std::map<const void*, const ptx::Kernel*> kernels;  ///< by the host's stub
    std::int64_t fail_allocation = 0;
    std::array<bool, kDevices> broken{};
    std::array<bool, kDevices> old{};
    std::array<std::size_t, kDevices> used{}, peak{};
    Work work;
    bool only_count = false;
    std::uintptr_t next_address = 4096;  ///< of memory that has no bytes
};
Runtime& runtime() {
    static Runtime instance;
    return instance;
}

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t keep(cudaError_t error) {
    if (error != cudaSuccess) last_error = error;
    return error;
}

/// The error of every call on a broken device.
cudaError_t state_of(int device) {
    return runtime().broken[static_cast<std::size_t>(device)] ? cudaErrorIllegalAddress
                                                              : cudaSuccess;
}

/// Runs everything that was asked of the stream.
void drain(Stream& stream) {
    while (!stream.work.empty()) {
        const auto work = std::move(stream.work.front());
        stream.work.pop_front();
        running.device = stream.device;
        work();
    }
}

const Allocation* owner_of(const void* address) {
    const auto& memory = runtime().memory;
    const auto after = memory.upper_bound(address);
    if (after == memory.begin()) return nullptr;
    const auto& [begin, allocation] = *std::prev(after);
    const auto offset = static_cast<const char*>(address) - static_cast<const char*>(begin);
    return static_cast<std::size_t>(offset) < allocation.bytes ? &allocation : nullptr;
}

void* address_without_memory(std::size_t bytes) {
    constexpr std::size_t kAlignment = 256;
    const std::uintptr_t address = runtime().next_address;
    runtime().next_address += (bytes + kAlignment) / kAlignment * kAlignment;
    return reinterpret_cast<void*>(address);
}

Stream& stream_of(cudaStream_t handle) {
    return *reinterpret_cast<Stream*>(handle);
}

cudaError_t upload(Stream& stream, void* to, const void* from, std::size_t bytes) {
    // Pageable memory is read before the call returns.
    const auto* const begin = static_cast<const std::uint8_t*>(from);
    stream.work.emplace_back([to, data = std::vector<std::uint8_t>(begin, begin + bytes)] {
        check_device_range(Access::kWrite, to, data.size(), "upload");
        std::memcpy(to, data.data(), data.size());
        mark_initialised(to, data.size());
    });
    return cudaSuccess;
}
cudaError_t download(Stream& stream, void* to, const void* from, std::size_t bytes) {
    drain(stream);
    check_device_range(Access::kRead, from, bytes, "download");
    std::memcpy(to, from, bytes);
    return cudaSuccess;
}
cudaError_t copy(Stream& stream, void* to, const void* from, std::size_t bytes) {
    stream.work.emplace_back([=] {
        check_device_range(Access::kWrite, to, bytes, "copy");
        check_device_range(Access::kRead, from, bytes, "copy");
        std::memmove(to, from, bytes);
        mark_copied(to, from, bytes);
    });
    return cudaSuccess;
}

bool launchable(dim3 grid, dim3 block) {
    constexpr unsigned kXMax = 2'147'483'647, kYMax = 65'535, kThreadsMax = 1024;
    return grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= kXMax && grid.y <= kYMax &&
           grid.z <= kYMax && block.x > 0 && block.x <= kThreadsMax;
}

struct Configuration {
    dim3 grid, block;
    std::size_t shared = 0;
    cudaStream_t stream = nullptr;
};
thread_local Configuration configuration;

}  // namespace

void fail_allocation(std::int64_t number) {
    const std::lock_guard lock(runtime().mutex);
    runtime().fail_allocation = number;
}
std::size_t allocations() {
    const std::lock_guard lock(runtime().mutex);
    return runtime().memory.size();
}
void break_device(int device) {
    const std::lock_guard lock(runtime().mutex);
    runtime().broken[static_cast<std::size_t>(device)] = true;
}
void age_device(int device) {
    const std::lock_guard lock(runtime().mutex);
    runtime().old[static_cast<std::size_t>(device)] = true;
}
std::size_t peak_bytes(int device) {
    const std::lock_guard lock(runtime().mutex);
    return runtime().peak[static_cast<std::size_t>(device)];
}
void forget_peaks() {
    const std::lock_guard lock(runtime().mutex);
    runtime().peak = runtime().used;
}
Work work() {
    const std::lock_guard lock(runtime().mutex);
    return runtime().work;
}
void forget_work() {
    const std::lock_guard lock(runtime().mutex);
    runtime().work = {};
}
void only_count(bool yes) {
    const std::lock_guard lock(runtime().mutex);
    runtime().only_count = yes;
}
void mend_devices() {
    const std::lock_guard lock(runtime().mutex);
    runtime().broken = {};
    runtime().old = {};
    last_error = cudaSuccess;
}

}  // namespace gym::emulation::runtime

// NOLINTBEGIN: names and types are the runtime's.
using namespace gym::emulation::runtime;
namespace emulation = gym::emulation;

extern "C" {

void** __cudaRegisterFatBinary(void*) {
    static void* handle = nullptr;
    return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void**, const char* stub, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
    const auto* const kernel = gym::ptx::find_kernel(name);
    if (kernel == nullptr) {
        std::fprintf(stderr, "no PTX of the kernel %s (GYM_CUDA_PTX)\n", name);
        std::abort();
    }
    runtime().kernels[stub] = kernel;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream) {
    configuration = {grid, block, shared, stream};
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
    *grid = configuration.grid;
    *block = configuration.block;
    *shared = configuration.shared;
    *static_cast<cudaStream_t*>(stream) = configuration.stream;
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* stub, dim3 grid, dim3 block, void** arguments,
                             size_t shared, cudaStream_t handle) {
    const std::lock_guard lock(runtime().mutex);
    Stream& stream = stream_of(handle);
    if (const cudaError_t broken = state_of(stream.device); broken != cudaSuccess)
        return keep(broken);
    if (stream.device != current_device) return keep(cudaErrorInvalidResourceHandle);
    if (!launchable(grid, block) || shared != 0) return keep(cudaErrorInvalidConfiguration);
    ++runtime().work.launches;
    if (runtime().only_count) return cudaSuccess;
    const gym::ptx::Kernel* const kernel = runtime().kernels.at(stub);
    const auto* const begin = static_cast<const std::uint8_t*>(arguments[0]);
    std::vector<std::uint8_t> copied(begin, begin + kernel->parameter_bytes);
    stream.work.emplace_back([=, copied = std::move(copied)] {
        emulation::launch({grid.x, grid.y, grid.z, static_cast<int>(block.x)},
                          gym::ptx::call_of(*kernel, copied.data()));
    });
    return cudaSuccess;
}
// What nvcc 13 makes of a launch.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
    *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(stub));
    return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared, cudaStream_t stream) {
    return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cudaError_t cudaGetLastError() {
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}
const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaErrorMemoryAllocation:
            return "out of memory";
        case cudaErrorInvalidResourceHandle:
            return "invalid resource handle";
        case cudaErrorIllegalAddress:
            return "an illegal memory access was encountered";
        case cudaErrorInvalidConfiguration:
            return "invalid configuration argument";
        case cudaErrorInvalidDevice:
            return "invalid device ordinal";
        default:
            return "an error of the emulation";
    }
}

cudaError_t cudaGetDeviceCount(int* count) {
    *count = kDevices;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "emulated %d", device);
    const std::lock_guard lock(runtime().mutex);
    const bool old = runtime().old[static_cast<std::size_t>(device)];
    properties->major = old ? 7 : 9;
    properties->minor = old ? 5 : 0;
    properties->totalGlobalMem = kMemoryBytes;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    if (device < 0 || device >= kDevices) return keep(cudaErrorInvalidDevice);
    current_device = device;
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
    const std::lock_guard lock(runtime().mutex);
    *total = kMemoryBytes;
    *free_bytes = kMemoryBytes - runtime().used[static_cast<std::size_t>(current_device)];
    return cudaSuccess;
}

cudaError_t cudaMalloc(void** out, size_t bytes) {
    const std::lock_guard lock(runtime().mutex);
    *out = nullptr;
    if (const cudaError_t broken = state_of(current_device); broken != cudaSuccess)
        return keep(broken);
    std::size_t& used = runtime().used[static_cast<std::size_t>(current_device)];
    if (runtime().fail_allocation != 0 && --runtime().fail_allocation == 0)
        return keep(cudaErrorMemoryAllocation);
    if (bytes > kMemoryBytes - used) return keep(cudaErrorMemoryAllocation);
    used += bytes;
    std::size_t& peak = runtime().peak[static_cast<std::size_t>(current_device)];
    peak = std::max(peak, used);
    *out = runtime().only_count
               ? address_without_memory(bytes)
               : emulation::allocate_device(
                     bytes, "an allocation of device " + std::to_string(current_device),
                     current_device);
    runtime().memory[*out] = {current_device, bytes};
    return cudaSuccess;
}
cudaError_t cudaFree(void* address) {
    const std::lock_guard lock(runtime().mutex);
    if (address == nullptr) return cudaSuccess;
    const auto at = runtime().memory.find(address);
    if (at == runtime().memory.end()) return keep(cudaErrorInvalidValue);
    const int device = at->second.device;
    if (state_of(device) == cudaSuccess)
        for (const auto& stream : runtime().streams)
            if (stream->device == device) drain(*stream);
    runtime().used[static_cast<std::size_t>(device)] -= at->second.bytes;
    if (!runtime().only_count) emulation::free_device(static_cast<std::uint8_t*>(address));
    runtime().memory.erase(at);
    return keep(state_of(device));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned) {
    const std::lock_guard lock(runtime().mutex);
    *out = nullptr;
    if (const cudaError_t broken = state_of(current_device); broken != cudaSuccess)
        return keep(broken);
    auto& stream = runtime().streams.emplace_back(new Stream{current_device, {}});
    *out = reinterpret_cast<cudaStream_t>(stream.get());
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
    const std::lock_guard lock(runtime().mutex);
    Stream& stream = stream_of(handle);
    if (state_of(stream.device) == cudaSuccess) drain(stream);
    std::erase_if(runtime().streams, [&](const auto& other) { return other.get() == &stream; });
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
    const std::lock_guard lock(runtime().mutex);
    Stream& stream = stream_of(handle);
    if (const cudaError_t broken = state_of(stream.device); broken != cudaSuccess)
        return keep(broken);
    drain(stream);
    ++runtime().work.waits;
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t handle) {
    const std::lock_guard lock(runtime().mutex);
    Stream& stream = stream_of(handle);
    if (const cudaError_t broken = state_of(stream.device); broken != cudaSuccess)
        return keep(broken);
    const bool to_device = owner_of(to) != nullptr, from_device = owner_of(from) != nullptr;
    ++runtime().work.copies;
    if (runtime().only_count) return cudaSuccess;
    if (kind == cudaMemcpyHostToDevice && to_device && !from_device)
        return upload(stream, to, from, bytes);
    if (kind == cudaMemcpyDeviceToHost && !to_device && from_device)
        return download(stream, to, from, bytes);
    if (kind == cudaMemcpyDeviceToDevice && to_device && from_device)
        return copy(stream, to, from, bytes);
    return keep(cudaErrorInvalidValue);
}
cudaError_t cudaMemsetAsync(void* address, int value, size_t bytes, cudaStream_t handle) {
    const std::lock_guard lock(runtime().mutex);
    Stream& stream = stream_of(handle);
    if (const cudaError_t broken = state_of(stream.device); broken != cudaSuccess)
        return keep(broken);
    if (owner_of(address) == nullptr) return keep(cudaErrorInvalidValue);
    ++runtime().work.copies;
    if (runtime().only_count) return cudaSuccess;
    stream.work.emplace_back([=] {
        emulation::check_device_range(emulation::Access::kWrite, address, bytes, "clear");
        std::memset(address, value, bytes);
        emulation::mark_initialised(address, bytes);
    });
    return cudaSuccess;
}

}  // extern "C"
// NOLINTEND
