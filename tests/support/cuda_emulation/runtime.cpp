#include "runtime.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "checked_memory.hpp"
#include "emulation.hpp"
#include "findings.hpp"
#include "ptx_run.hpp"
#include "runtime_state.hpp"

namespace gym::emulation::runtime {
namespace {

constexpr std::size_t kMemoryBytes = std::size_t{24} << 30;
constexpr char kUnwrittenMemory = 0;  ///< its address stands for memory of any size

thread_local int device_of_thread = 0;
thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

Runtime& runtime() {
    static Runtime instance;
    return instance;
}

int current_device() {
    return device_of_thread;
}

cudaError_t keep(cudaError_t error) {
    if (error != cudaSuccess) last_error = error;
    return error;
}

cudaError_t state_of(int device) {
    return runtime().broken[static_cast<std::size_t>(device)] ? cudaErrorIllegalAddress
                                                              : cudaSuccess;
}

bool allocation_fails() {
    return runtime().fail_allocation != 0 && --runtime().fail_allocation == 0;
}

void drain(Stream& stream) {
    while (!stream.work.empty()) {
        const Task task = std::move(stream.work.front());
        stream.work.pop_front();
        running.device = stream.device;
        task();
    }
}

namespace {

const Allocation* owner_of(const void* address) {
    const auto& memory = runtime().memory;
    const auto after = memory.upper_bound(address);
    if (after == memory.begin()) return nullptr;
    const auto& [begin, allocation] = *std::prev(after);
    const auto offset = static_cast<const char*>(address) - static_cast<const char*>(begin);
    return static_cast<std::size_t>(offset) < allocation.bytes ? &allocation : nullptr;
}

/// As a driver rounds it up.
std::size_t taken_bytes(std::size_t bytes) {
    constexpr std::size_t kSmallMax = std::size_t{1} << 20, kSmall = 512;
    const std::size_t unit = bytes > kSmallMax ? 2 * kSmallMax : kSmall;
    return (bytes + unit - 1) / unit * unit;
}

void* address_without_memory(std::size_t bytes) {
    const std::uintptr_t address = runtime().next_address;
    runtime().next_address +=
        (bytes + kAllocationAlignment) / kAllocationAlignment * kAllocationAlignment;
    return reinterpret_cast<void*>(address);
}

cudaError_t upload(Stream& stream, void* to, const void* from, std::size_t bytes) {
    const auto write = [to](const void* data, std::size_t count) {
        check_device_range(Access::kWrite, to, count, "upload");
        std::memcpy(to, data, count);
        mark_initialised(to, count);
    };
    // A graph reads the host's memory each time that it runs, and so does a device that needs no
    // copy of pageable memory.
    if (stream.capture || runtime().late_reads) {
        ask(stream, [=] { write(from, bytes); });
        return cudaSuccess;
    }
    // Elsewhere pageable memory is read before the call returns.
    const auto* const begin = static_cast<const std::uint8_t*>(from);
    ask(stream, [write, data = std::vector<std::uint8_t>(begin, begin + bytes)] {
        write(data.data(), data.size());
    });
    return cudaSuccess;
}
cudaError_t download(Stream& stream, void* to, const void* from, std::size_t bytes) {
    const auto read = [=] {
        check_device_range(Access::kRead, from, bytes, "download");
        std::memcpy(to, from, bytes);
    };
    ask(stream, read);
    if (!stream.capture) drain(stream);
    return cudaSuccess;
}
cudaError_t copy(Stream& stream, void* to, const void* from, std::size_t bytes) {
    ask(stream, [=] {
        check_device_range(Access::kWrite, to, bytes, "copy");
        check_device_range(Access::kRead, from, bytes, "copy");
        std::memmove(to, from, bytes);
        mark_copied(to, from, bytes);
    });
    return cudaSuccess;
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
void read_uploads_late(bool yes) {
    const std::lock_guard lock(runtime().mutex);
    runtime().late_reads = yes;
}
void reorder_cards() {
    const std::lock_guard lock(runtime().mutex);
    runtime().reordered = true;
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
const void* unwritten_memory() {
    const std::lock_guard lock(runtime().mutex);
    return runtime().only_count ? nullptr : &kUnwrittenMemory;
}
void set_driver_version(int version) {
    const std::lock_guard lock(runtime().mutex);
    runtime().driver_version = version;
}

void mend_devices() {
    const std::lock_guard lock(runtime().mutex);
    runtime().driver_version = CUDART_VERSION;
    runtime().broken = {};
    runtime().old = {};
    runtime().reordered = false;
    runtime().late_reads = false;
    runtime().refuse_graphs = false;
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
    if (const cudaError_t error = check_stream(handle); error != cudaSuccess) return keep(error);
    Stream& stream = stream_of(handle);
    if (stream.device != current_device()) return keep(cudaErrorInvalidResourceHandle);
    const emulation::LaunchSize size{grid.x, grid.y, grid.z, static_cast<int>(block.x)};
    if (!emulation::is_launchable(size) || shared != 0) return keep(cudaErrorInvalidConfiguration);
    if (!stream.capture) ++runtime().work.launches;
    if (runtime().only_count) return cudaSuccess;
    const gym::ptx::Kernel* const kernel = runtime().kernels.at(stub);
    const auto* const begin = static_cast<const std::uint8_t*>(arguments[0]);
    std::vector<std::uint8_t> copied(begin, begin + kernel->parameter_bytes);
    ask(stream, [=, copied = std::move(copied)] {
        emulation::launch(size, gym::ptx::call_of(*kernel, copied.data()));
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
        case cudaErrorNotSupported:
            return "operation not supported";
        case cudaErrorStreamCaptureUnsupported:
            return "operation not permitted when stream is capturing";
        case cudaErrorInvalidDevice:
            return "invalid device ordinal";
        default:
            return "an error of the emulation";
    }
}

cudaError_t cudaGetDeviceCount(int* count) {
    *count = kDevices;
    // A driver of the same major version will do.
    constexpr int kMajor = 1'000;
    const std::lock_guard lock(runtime().mutex);
    return runtime().driver_version / kMajor < CUDART_VERSION / kMajor
               ? keep(cudaErrorInsufficientDriver)
               : cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
    const std::lock_guard lock(runtime().mutex);
    *version = runtime().driver_version;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    *properties = {};
    // Cards of one model: only their UUIDs tell which is which.
    std::snprintf(properties->name, sizeof properties->name, "emulated");
    const std::lock_guard lock(runtime().mutex);
    std::memset(properties->uuid.bytes, 0xA0, sizeof properties->uuid.bytes);
    properties->uuid.bytes[15] =
        static_cast<char>(runtime().reordered ? kDevices - 1 - device : device);
    const bool old = runtime().old[static_cast<std::size_t>(device)];
    properties->major = old ? 7 : 9;
    properties->minor = old ? 5 : 0;
    properties->totalGlobalMem = kMemoryBytes;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    if (device < 0 || device >= kDevices) return keep(cudaErrorInvalidDevice);
    device_of_thread = device;
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
    const std::lock_guard lock(runtime().mutex);
    *total = kMemoryBytes;
    // A process's own context takes some, also where it allocates nothing.
    *free_bytes =
        kMemoryBytes - kContextBytes - runtime().used[static_cast<std::size_t>(current_device())];
    return cudaSuccess;
}

cudaError_t cudaMalloc(void** out, size_t bytes) {
    const std::lock_guard lock(runtime().mutex);
    *out = nullptr;
    if (const cudaError_t broken = state_of(current_device()); broken != cudaSuccess)
        return keep(broken);
    if (const cudaError_t forbidden = check_unseen_call(); forbidden != cudaSuccess)
        return keep(forbidden);
    std::size_t& used = runtime().used[static_cast<std::size_t>(current_device())];
    if (allocation_fails()) return keep(cudaErrorMemoryAllocation);
    const std::size_t taken = taken_bytes(bytes);
    if (taken > kMemoryBytes - used) return keep(cudaErrorMemoryAllocation);
    used += taken;
    std::size_t& peak = runtime().peak[static_cast<std::size_t>(current_device())];
    peak = std::max(peak, used);
    *out = runtime().only_count
               ? address_without_memory(bytes)
               : emulation::allocate_device(
                     bytes, "an allocation of device " + std::to_string(current_device()),
                     current_device());
    runtime().memory[*out] = {current_device(), bytes};
    return cudaSuccess;
}
cudaError_t cudaFree(void* address) {
    const std::lock_guard lock(runtime().mutex);
    if (address == nullptr) return cudaSuccess;
    if (const cudaError_t forbidden = check_unseen_call(); forbidden != cudaSuccess)
        return keep(forbidden);
    const auto at = runtime().memory.find(address);
    if (at == runtime().memory.end()) return keep(cudaErrorInvalidValue);
    const int device = at->second.device;
    if (state_of(device) == cudaSuccess)
        for (const auto& stream : runtime().streams)
            if (stream->device == device) drain(*stream);
    runtime().used[static_cast<std::size_t>(device)] -= taken_bytes(at->second.bytes);
    if (!runtime().only_count) emulation::free_device(static_cast<std::uint8_t*>(address));
    runtime().memory.erase(at);
    return keep(state_of(device));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned flags) {
    const std::lock_guard lock(runtime().mutex);
    *out = nullptr;
    if (const cudaError_t broken = state_of(current_device()); broken != cudaSuccess)
        return keep(broken);
    const bool is_blocking = (flags & cudaStreamNonBlocking) == 0;
    auto& stream =
        runtime().streams.emplace_back(new Stream{current_device(), is_blocking, {}, {}});
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
    if (const cudaError_t forbidden = check_wait(stream); forbidden != cudaSuccess)
        return keep(forbidden);
    drain(stream);
    ++runtime().work.waits;
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t handle) {
    const std::lock_guard lock(runtime().mutex);
    if (const cudaError_t error = check_stream(handle); error != cudaSuccess) return keep(error);
    Stream& stream = stream_of(handle);
    const bool to_device = owner_of(to) != nullptr, from_device = owner_of(from) != nullptr;
    if (from == &kUnwrittenMemory && to_device) {
        ask(stream, [=] { emulation::forget_contents(to, bytes); });
        return cudaSuccess;
    }
    if (!stream.capture) ++runtime().work.copies;
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
    if (const cudaError_t error = check_stream(handle); error != cudaSuccess) return keep(error);
    Stream& stream = stream_of(handle);
    if (owner_of(address) == nullptr) return keep(cudaErrorInvalidValue);
    if (!stream.capture) ++runtime().work.copies;
    if (runtime().only_count) return cudaSuccess;
    ask(stream, [=] {
        emulation::check_device_range(emulation::Access::kWrite, address, bytes, "clear");
        std::memset(address, value, bytes);
        emulation::mark_initialised(address, bytes);
    });
    return cudaSuccess;
}

}  // extern "C"
// NOLINTEND
