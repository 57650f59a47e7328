#include "offered_memory.hpp"

#include <algorithm>
#include <string>

#include "gym/engine/device.hpp"
#include "gym/node/machine.hpp"

namespace gym::node {

Result<std::uint64_t> lent_memory(const NodeConfig& config, const RegisterOptions& options) {
    GYM_TRY(const std::uint64_t existing, device_memory_bytes(config));
    const std::uint64_t asked =
        options.memory_bytes != 0 ? options.memory_bytes : config.memory_bytes;
    if (asked == 0) return config.device == "cpu" ? std::min(kCpuMemoryBytes, existing) : existing;
    if (asked <= existing) return asked;
    if (options.tell)
        options.tell(std::string(config.device == "cpu" ? "this machine" : "the GPU") + " has " +
                     std::to_string(existing >> 20) + " MiB of memory, not " +
                     std::to_string(asked >> 20) + " MiB: registering " +
                     std::to_string(existing >> 20) + " MiB");
    return existing;
}

Result<std::uint64_t> usable_memory(const NodeConfig& config, std::uint64_t lent,
                                    const RegisterOptions& options) {
    if (config.device == "cpu") return lent;
    GYM_TRY(const std::uint64_t free, engine::free_device_bytes(config.device));
    if (free >= lent) return lent;
    if (options.tell)
        options.tell(std::to_string(free >> 20) + " MiB of the GPU's memory are free now, not " +
                     std::to_string(lent >> 20) + " MiB: registering " +
                     std::to_string(free >> 20) +
                     " MiB (the driver and other programs have the rest)");
    return free;
}

}  // namespace gym::node
