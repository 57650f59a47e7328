#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "graphs.hpp"
#include "gym/kernels/cuda/scratch.hpp"
#include "launch.cuh"

namespace gym::kernels::cuda {

namespace {

constexpr int kCapabilityMin = 8;

std::string check_device(int index) {
    cudaDeviceProp properties;
    const cudaError_t error = cudaGetDeviceProperties(&properties, index);
    if (error != cudaSuccess) return cudaGetErrorString(error);
    if (properties.major < kCapabilityMin) {
        return std::string(properties.name) + " has compute capability " +
               std::to_string(properties.major) + "." + std::to_string(properties.minor) +
               "; 8.0 is needed";
    }
    return {};
}

/// "12.8", of a version as the runtime counts them.
std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Why the runtime lists no devices, and what to do about it. A driver that is not there and one
/// that is too old are the same error to it.
std::string no_devices_because(cudaError_t error) {
    if (error == cudaErrorNoDevice || error == cudaSuccess)
        return "NVIDIA's driver shows no device here: does `nvidia-smi` list it?";
    if (error != cudaErrorInsufficientDriver)
        return std::string(cudaGetErrorString(error)) + ": does `nvidia-smi` list the device?";
    int supported = 0;
    if (cudaDriverGetVersion(&supported) != cudaSuccess || supported == 0)
        return "NVIDIA's driver is not installed here: install it";
    return "NVIDIA's driver supports CUDA " + version_text(supported) +
           ", and this gym is built with CUDA " + version_text(CUDART_VERSION) +
           ": update the driver, or rebuild with a CUDA Toolkit " +
           std::to_string(supported / 1000) + ".x";
}

/// In nvidia-smi's form.
std::string uuid_text(const cudaUUID_t& uuid) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out = "GPU";
    for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
        if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) out += '-';
        const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
        out += {kDigits[byte / 16], kDigits[byte % 16]};
    }
    return out;
}

}  // namespace

struct Device::Memory {
    struct Scratch {
        void* data = nullptr;
        std::size_t capacity = 0;
    };
    std::vector<void*> allocations;
    std::array<Scratch, kScratchBuffers> scratch;
    std::optional<Graphs> graphs;  ///< once there is a stream
};

std::string unavailable_reason() {
    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    std::string reason = no_devices_because(error);
    if (error != cudaSuccess) return reason;
    for (int index = devices - 1; index >= 0; --index) {
        reason = check_device(index);
        if (reason.empty()) break;
    }
    return reason;
}

std::vector<DeviceInfo> list_devices(std::string& reason) {
    int count = 0;
    const cudaError_t counted = cudaGetDeviceCount(&count);
    if (counted != cudaSuccess || count == 0) reason = no_devices_because(counted);
    std::vector<DeviceInfo> out;
    for (int index = 0; counted == cudaSuccess && index < count; ++index) {
        DeviceInfo info;
        cudaDeviceProp properties;
        if (cudaGetDeviceProperties(&properties, index) == cudaSuccess) {
            info.name = properties.name;
            info.uuid = uuid_text(properties.uuid);
            info.memory_bytes = properties.totalGlobalMem;
        }
        info.unusable_because = check_device(index);
        out.push_back(info);
    }
    return out;
}

std::unique_ptr<Device> Device::open(int index, std::string& error) {
    int devices = 0;
    const cudaError_t counted = cudaGetDeviceCount(&devices);
    if (counted != cudaSuccess || devices == 0) {
        error = no_devices_because(counted);
        return nullptr;
    }
    if (index < 0 || index >= devices) {
        error =
            "no CUDA device " + std::to_string(index) + ": there are " + std::to_string(devices);
        return nullptr;
    }
    error = check_device(index);
    if (!error.empty()) return nullptr;
    std::unique_ptr<Device> device(new Device);
    device->memory_ = std::make_unique<Memory>();
    device->index_ = index;
    cudaStream_t stream = nullptr;
    if (device->use()) device->note(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    device->stream_ = stream;
    device->memory_->graphs.emplace(stream);
    if (device->ok()) return device;
    error = device->error();
    return nullptr;
}

Device::~Device() {
    cudaSetDevice(index_);
    if (stream_ != nullptr) {
        cudaStreamSynchronize(static_cast<cudaStream_t>(stream_));
        memory_->graphs.reset();
        cudaStreamDestroy(static_cast<cudaStream_t>(stream_));
    }
    for (void* allocation : memory_->allocations)
        cudaFree(allocation);
    for (auto& buffer : memory_->scratch)
        cudaFree(buffer.data);
}

bool Device::use() {
    if (ok()) note(cudaSetDevice(index_));
    return ok();
}

bool Device::flush() {
    if (use())
        note(memory_->graphs->flush());
    else
        memory_->graphs->drop_noted();
    return ok();
}

void* Device::stream() {
    flush();
    return stream_;
}

void Device::begin_repeated() {
    memory_->graphs->begin();
}

void Device::end_repeated() {
    flush();
    note(memory_->graphs->end());
}

const std::string& Device::no_graphs_because() const {
    return memory_->graphs->refused_because();
}

/// Notes the command, or starts it.
void Device::ask(const Command& command, const void* arguments) {
    if (!ok()) return;
    if (memory_->graphs->are_noting()) {
        if (memory_->graphs->add(command, arguments)) flush();
    } else if (use()) {
        note(cuda::start(command, arguments, static_cast<cudaStream_t>(stream_)));
    }
}

void Device::start(const Launch& launch, const void* arguments, std::size_t bytes) {
    ask({launch.kernel, nullptr, bytes, launch.x, launch.y, launch.z, launch.threads}, arguments);
}

void Device::note(int cuda_error) {
    const auto error = static_cast<cudaError_t>(cuda_error);
    if (error == cudaSuccess) return;
    if (error_.empty()) {
        error_ = cudaGetErrorString(error);
        out_of_memory_ = error == cudaErrorMemoryAllocation;
    }
    // Or the next launch in this thread, also of another engine, would report it again.
    cudaGetLastError();
}

std::byte* Device::allocate(std::size_t bytes) {
    if (!use()) return nullptr;
    void* data = nullptr;
    note(cudaMalloc(&data, bytes > 0 ? bytes : 1));
    if (data != nullptr) memory_->allocations.push_back(data);
    return static_cast<std::byte*>(data);
}

std::vector<std::byte*> Device::allocate_together(std::span<const std::uint64_t> sizes) {
    std::size_t all = 0;
    for (const std::uint64_t size : sizes)
        all += padded_bytes(size);
    std::byte* next = allocate(all);
    std::vector<std::byte*> out;
    for (const std::uint64_t size : sizes) {
        out.push_back(size == 0 ? nullptr : next);
        if (next != nullptr) next += padded_bytes(size);
    }
    return out;
}

std::byte* Device::scratch(int index, std::size_t bytes) {
    auto& buffer = memory_->scratch[static_cast<std::size_t>(index)];
    if (bytes <= buffer.capacity || !flush()) return static_cast<std::byte*>(buffer.data);
    // cudaFree waits for the kernels that may still use the old memory.
    note(cudaFree(buffer.data));
    buffer = {};
    cudaError_t error = cudaMalloc(&buffer.data, bytes);
    // Graphs take memory that no plan has counted.
    if (error == cudaErrorMemoryAllocation && memory_->graphs->give_up(error)) {
        cudaGetLastError();
        error = cudaMalloc(&buffer.data, bytes);
    }
    note(error);
    if (buffer.data != nullptr) buffer.capacity = bytes;
    return static_cast<std::byte*>(buffer.data);
}

void Device::upload(void* device, const void* host, std::size_t bytes) {
    if (bytes == 0 || !flush()) return;
    note(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice,
                         static_cast<cudaStream_t>(stream_)));
}

void Device::download(void* host, const void* device, std::size_t bytes) {
    if (bytes == 0 || !flush()) return;
    note(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost,
                         static_cast<cudaStream_t>(stream_)));
    synchronize();
}

void Device::copy(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) ask({from, to, bytes, 0, 0, 0, 0}, nullptr);
}

void Device::clear(void* device, std::size_t bytes) {
    if (bytes > 0) ask({nullptr, device, bytes, 0, 0, 0, 0}, nullptr);
}

void Device::synchronize() {
    if (flush()) note(cudaStreamSynchronize(static_cast<cudaStream_t>(stream_)));
}

std::string Device::name() const {
    cudaDeviceProp properties;
    return cudaGetDeviceProperties(&properties, index_) == cudaSuccess ? properties.name
                                                                       : "unknown";
}

std::size_t Device::free_bytes() const {
    std::size_t free_bytes = 0, total_bytes = 0;
    const bool known = cudaSetDevice(index_) == cudaSuccess &&
                       cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess;
    return known ? free_bytes : 0;
}

}  // namespace gym::kernels::cuda
