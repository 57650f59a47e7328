// Device of kernels/cuda on host memory.
#include <array>
#include <cstring>
#include <vector>

#include "gym/kernels/cuda/device.hpp"

namespace gym::kernels::cuda {

struct Device::Memory {
    std::vector<std::vector<std::uint64_t>> allocations;
    std::array<std::vector<std::uint64_t>, kScratchBuffers> scratch;
};

namespace {

/// The content of uninitialised memory: a NaN, so that a kernel that reads it is found.
constexpr std::uint64_t kGarbage = 0x7FA0'BEEF'7FA0'BEEFU;
constexpr std::size_t kWord = sizeof(std::uint64_t);

}  // namespace

std::string unavailable_reason() {
    return {};
}

std::vector<DeviceInfo> list_devices(std::string&) {
    return {{"emulated", std::size_t{1} << 30, {}}};
}

std::unique_ptr<Device> Device::open(int index, std::string& error) {
    if (index != 0) {
        error = "only device 0 is emulated";
        return nullptr;
    }
    std::unique_ptr<Device> device(new Device);
    device->memory_ = std::make_unique<Memory>();
    return device;
}

Device::~Device() = default;

void Device::note(int) {}

std::byte* Device::allocate(std::size_t bytes) {
    memory_->allocations.emplace_back(bytes / kWord + 4, kGarbage);
    // 16-byte aligned, as vector loads of the kernels expect.
    auto address = reinterpret_cast<std::uintptr_t>(memory_->allocations.back().data());
    return reinterpret_cast<std::byte*>((address + 15) / 16 * 16);
}

std::byte* Device::scratch(int index, std::size_t bytes) {
    auto& buffer = memory_->scratch[static_cast<std::size_t>(index)];
    if (buffer.size() < bytes / kWord + 4) buffer.assign(bytes / kWord + 4, kGarbage);
    auto address = reinterpret_cast<std::uintptr_t>(buffer.data());
    return reinterpret_cast<std::byte*>((address + 15) / 16 * 16);
}

void Device::upload(void* device, const void* host, std::size_t bytes) {
    std::memcpy(device, host, bytes);
}
void Device::download(void* host, const void* device, std::size_t bytes) {
    std::memcpy(host, device, bytes);
}
void Device::copy(void* to, const void* from, std::size_t bytes) {
    std::memmove(to, from, bytes);
}
void Device::clear(void* device, std::size_t bytes) {
    std::memset(device, 0, bytes);
}
void Device::synchronize() {}

std::string Device::name() const {
    return "emulated";
}
std::size_t Device::memory_bytes() const {
    return std::size_t{1} << 40;
}

}  // namespace gym::kernels::cuda
