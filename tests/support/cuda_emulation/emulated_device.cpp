// Device of kernels/cuda on checked memory (checked_memory.hpp). Scratch moves at every call and
// has no contents: what a kernel reads there, the same op has written.
#include <array>
#include <cstring>
#include <vector>

#include "checked_memory.hpp"
#include "findings.hpp"
#include "flips.hpp"
#include "gym/kernels/cuda/device.hpp"

namespace gym::kernels::cuda {

using namespace emulation;

struct Device::Memory {
    std::vector<std::uint8_t*> allocations;
    std::array<std::uint8_t*, kScratchBuffers> scratch{};

    ~Memory() {
        for (std::uint8_t* const allocation : allocations)
            free_device(allocation);
        for (std::uint8_t* const buffer : scratch)
            if (buffer != nullptr) free_device(buffer);
    }
};

std::string unavailable_reason() {
    return {};
}

std::vector<DeviceInfo> list_devices(std::string&) {
    return {{"emulated", "GPU-emulated", std::size_t{1} << 30, {}}};
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

void* Device::stream() {
    return nullptr;
}
void Device::note(int cuda_error) {
    if (cuda_error != 0 && error_.empty()) error_ = "an illegal memory access was encountered";
}
void Device::begin_repeated() {}
void Device::end_repeated() {}
const std::string& Device::no_graphs_because() const {
    return error_;
}

std::byte* Device::allocate(std::size_t bytes) {
    memory_->allocations.push_back(allocate_device(bytes, "an allocation"));
    return reinterpret_cast<std::byte*>(memory_->allocations.back());
}

/// Apart, so that an access beyond the end of one is found.
std::vector<std::byte*> Device::allocate_together(std::span<const std::uint64_t> sizes) {
    std::vector<std::byte*> out;
    for (const std::uint64_t size : sizes)
        out.push_back(size == 0 ? nullptr : allocate(size));
    return out;
}

std::byte* Device::scratch(int index, std::size_t bytes) {
    std::uint8_t*& buffer = memory_->scratch[static_cast<std::size_t>(index)];
    if (buffer != nullptr) free_device(buffer);
    buffer = allocate_device(bytes, "scratch " + std::to_string(index));
    return reinterpret_cast<std::byte*>(buffer);
}

void Device::upload(void* device, const void* host, std::size_t bytes) {
    check_device_range(Access::kWrite, device, bytes, "upload");
    std::memcpy(device, host, bytes);
    mark_initialised(device, bytes);
    pass_transfer(device, bytes);
}

void Device::download(void* host, const void* device, std::size_t bytes) {
    synchronize();
    if (!ok()) return;
    check_device_range(Access::kRead, device, bytes, "download");
    std::memcpy(host, device, bytes);
    pass_transfer(host, bytes);
}

void Device::copy(void* to, const void* from, std::size_t bytes) {
    check_device_range(Access::kWrite, to, bytes, "copy");
    check_device_range(Access::kRead, from, bytes, "copy");
    const auto* const a = static_cast<const std::byte*>(to);
    const auto* const b = static_cast<const std::byte*>(from);
    if (a < b + bytes && b < a + bytes) report("a copy over itself", to);
    std::memmove(to, from, bytes);
    mark_copied(to, from, bytes);
    pass_transfer(to, bytes);
}

void Device::clear(void* device, std::size_t bytes) {
    check_device_range(Access::kWrite, device, bytes, "clear");
    std::memset(device, 0, bytes);
    mark_initialised(device, bytes);
    pass_transfer(device, bytes);
}

void Device::synchronize() {
    note(is_context_lost() ? 1 : 0);
}

std::string Device::name() const {
    return "emulated";
}
std::size_t Device::free_bytes() const {
    return std::size_t{1} << 40;
}

}  // namespace gym::kernels::cuda
