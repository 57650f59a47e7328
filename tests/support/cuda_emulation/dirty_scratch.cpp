// Device::scratch() of device.cu, which the linker's --wrap replaces by this one: at every call the
// buffer loses what was in it, when the device's work gets there. What an op reads there, the same
// op has to write, though the real buffer keeps what the op before has left.
#include "gym/kernels/cuda/device.hpp"
#include "runtime.hpp"

using gym::kernels::cuda::Device;

// NOLINTBEGIN: names are the linker's.
extern "C" {

std::byte* __real__ZN3gym7kernels4cuda6Device7scratchEim(Device* device, int index,
                                                         std::size_t bytes);

std::byte* __wrap__ZN3gym7kernels4cuda6Device7scratchEim(Device* device, int index,
                                                         std::size_t bytes) {
    std::byte* const memory = __real__ZN3gym7kernels4cuda6Device7scratchEim(device, index, bytes);
    const void* const unwritten = gym::emulation::runtime::unwritten_memory();
    if (memory != nullptr && unwritten != nullptr) device->copy(memory, unwritten, bytes);
    return memory;
}

}  // extern "C"
// NOLINTEND
