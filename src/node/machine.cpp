#include "gym/node/machine.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "gym/common/clock.hpp"
#include "gym/engine/device.hpp"
#include "gym/engine/memory.hpp"

namespace gym::node {

namespace {

/// Counts it where people and the node's next start find it, and tells it. @return "1 of 3 times
/// that end its use". @errors as DeviceErrors::check(), if it was the last one.
Result<std::string> count_error(const DeviceErrors& errors, const std::string& what) {
    GYM_CHECK(errors.add(what, SystemClock().now_ms()));
    GYM_TRY(const unsigned count, errors.count());
    std::string times = std::to_string(count) + " of " + std::to_string(DeviceErrors::kErrorsMax) +
                        " times that end its use";
    spdlog::error("{} gave wrong results, which are not signed; {}: {}", errors.device(), times,
                  what);
    GYM_CHECK(errors.check());
    return times;
}

/// Whether the GPU would have what the benchmark needs, and other programs have it: then a restart
/// may find it.
bool lacks_free_memory(const NodeConfig& config, const Error& error) {
    if (error.code != ErrorCode::kOutOfRange || config.device == "cpu") return false;
    const auto all = device_memory_bytes(config);
    const auto program = benchmark_program(config.engine());
    if (!all.ok() || !program.ok()) return false;
    const auto need = engine::memory_need(*program, {.device = "cuda"});
    const std::uint64_t lent =
        config.memory_bytes == 0 ? *all : std::min(config.memory_bytes, *all);
    return need.ok() && need->total() <= lent;
}

}  // namespace

Result<std::string> device_of(const NodeConfig& config) {
    auto model = engine::device_model(config.device);
    if (model.ok()) {
        GYM_TRY(const DeviceErrors errors, errors_of_device(config));
        GYM_CHECK(errors.check());
        return model;
    }
    const Error error = model.error().in("device '" + config.device + "'");
    // Of the configuration, or of the build: the message says what to change already.
    if (error.code == ErrorCode::kInvalidArgument) return error;
    return fail(ErrorCode::kNotFound, error.message +
                                          "; or name another --device (`device` in the "
                                          "configuration), of which cpu always works");
}

Result<DeviceErrors> errors_of_device(const NodeConfig& config) {
    GYM_TRY(std::string identity, engine::device_identity(config.device));
    return DeviceErrors(config.data_dir, std::move(identity));
}

std::function<Status(const Error&)> device_check(const NodeConfig& config) {
    const auto known = errors_of_device(config);
    return [name = config.device,
            errors = known.ok() ? *known : DeviceErrors(config.data_dir, config.device),
            seen = engine::device_errors(config.device).size(),
            without_room =
                engine::times_without_room(config.device)](const Error&) mutable -> Status {
        // Not the failure: what it ended with may be the next thing that failed.
        for (const auto found = engine::device_errors(name); seen < found.size();)
            GYM_CHECK(count_error(errors, found[seen++]));
        if (engine::times_without_room(name) !=
            std::exchange(without_room, engine::times_without_room(name)))
            return fail(ErrorCode::kUnavailable,
                        "a unit found less free memory on device '" + name +
                            "' than the node registered: it signs off, and registers what is free "
                            "when it is started again (`gym node start --register`)");
        const Status answers = engine::check_device(name);
        if (answers.ok()) return {};
        return answers.error().in("device '" + name +
                                  "' is lost to this process: start the node again");
    };
}

Result<Benchmark> measure_device(const NodeConfig& config, std::int64_t duration_ms) {
    GYM_TRY(const DeviceErrors errors, errors_of_device(config));
    const std::size_t seen = engine::device_errors(config.device).size();
    auto measured = run_benchmark(config.engine(), duration_ms);
    if (!measured.ok() && lacks_free_memory(config, measured.error()))
        return fail(ErrorCode::kUnavailable, measured.error().message);
    const auto found = engine::device_errors(config.device);
    if (measured.ok() || found.size() == seen) return measured;
    GYM_TRY(const std::string times, count_error(errors, found.back()));
    Error error = measured.error();
    error.message += "; " + times + " (" + errors.device() + ")";
    return error;
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
