#include "gym/node/machine.hpp"

#include <fstream>

#include "gym/engine/device.hpp"

namespace gym::node {

Result<std::string> device_of(const NodeConfig& config) {
    auto model = engine::device_model(config.device);
    if (model.ok()) return model;
    const Error error = model.error().in("device '" + config.device + "'");
    // Of the configuration, or of the build: the message says what to change already.
    if (error.code == ErrorCode::kInvalidArgument) return error;
    return fail(ErrorCode::kNotFound,
                error.message +
                    ": does `nvidia-smi` show it here? Set another --device (`device` in the "
                    "configuration; cpu always works), then look with `gym node doctor`");
}

std::function<Status()> device_check(const NodeConfig& config) {
    const auto choice = engine::parse_device(config.device);
    if (!choice.ok() || !choice->cuda) return nullptr;
    return [name = config.device]() -> Status {
        const Status answers = engine::check_device(name);
        if (answers.ok()) return {};
        return answers.error().in("device '" + name +
                                  "' is lost to this process: start the node again");
    };
}

Result<std::uint64_t> device_memory_bytes(const NodeConfig& config) {
    GYM_TRY(const engine::DeviceChoice choice, engine::parse_device(config.device));
    if (!choice.cuda) return machine_memory_bytes();
    for (const engine::CudaDevice& device : engine::cuda_devices().devices)
        if (device.index == choice.index) return device.memory_bytes;
    GYM_CHECK(device_of(config));
    return fail(ErrorCode::kNotFound, "the memory of device " + config.device + " is not known");
}

Result<std::uint64_t> machine_memory_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string name;
    for (std::uint64_t kib = 0; file >> name >> kib; file.ignore(64, '\n'))
        if (name == "MemTotal:") return kib << 10;
    return fail(ErrorCode::kIo, "/proc/meminfo does not say how much memory there is");
}

}  // namespace gym::node
