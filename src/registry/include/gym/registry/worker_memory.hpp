#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace gym::registry {

/// What a unit of a job takes of its worker's memory (engine::memory_need()); 0: unknown, of older
/// jobs.
struct WorkerMemory {
    std::uint64_t cpu_bytes = 0;
    std::uint64_t gpu_bytes = 0;  ///< scores of attention for all heads, and checks, make it larger

    /// Of a device as nodes register it: "cpu", or a GPU's model. Empty is taken for a CPU.
    [[nodiscard]] static bool is_cpu(std::string_view device) {
        return device.empty() || device == "cpu";
    }
    [[nodiscard]] std::uint64_t on(std::string_view device) const {
        return is_cpu(device) ? cpu_bytes : on_gpu();
    }
    [[nodiscard]] std::uint64_t on_gpu() const { return std::max(cpu_bytes, gpu_bytes); }
    bool operator==(const WorkerMemory&) const = default;
};

}  // namespace gym::registry
