#pragma once

// Device memory of tests: inputs, and outputs in which nothing is to be found that an op did not
// write.

#include <cstring>
#include <vector>

#include "gym/kernels/cuda/device.hpp"

namespace gym::engine::testing {

/// The emulation knows which bytes nobody has written; on a device they get a pattern.
inline std::byte* poisoned(kernels::cuda::Device& device, std::size_t bytes) {
    std::byte* const memory = device.allocate(bytes);
    if (device.name() == "emulated") return memory;
    const std::vector<std::byte> pattern(bytes, std::byte{0xA5});
    device.upload(memory, pattern.data(), bytes);
    device.synchronize();
    return memory;
}

template <typename T>
T* poisoned_array(kernels::cuda::Device& device, std::size_t count) {
    return reinterpret_cast<T*>(poisoned(device, count * sizeof(T)));
}

template <typename T>
T* uploaded(kernels::cuda::Device& device, const std::vector<T>& values) {
    auto* const memory = reinterpret_cast<T*>(device.allocate(values.size() * sizeof(T)));
    device.upload(memory, values.data(), values.size() * sizeof(T));
    return memory;
}

template <typename T>
std::vector<T> downloaded(kernels::cuda::Device& device, const T* memory, std::size_t count) {
    std::vector<T> values(count);
    device.download(values.data(), memory, count * sizeof(T));
    return values;
}

}  // namespace gym::engine::testing
