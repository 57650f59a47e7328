#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "gym/common/result.hpp"
#include "gym/node/benchmark.hpp"
#include "gym/node/device_errors.hpp"
#include "gym/node/node_config.hpp"

namespace gym::node {

/// The model name of the device that the node is configured to compute on, as
/// engine::device_model().
/// @errors kInvalidArgument: the name is not a device's, this build does not support it, or it
/// erred too often (DeviceErrors); kNotFound: this machine has no such device. All say what to
/// change.
[[nodiscard]] Result<std::string> device_of(const NodeConfig& config);

/// The record of the errors of the node's device, which is not opened.
/// @errors as engine::device_identity().
[[nodiscard]] Result<DeviceErrors> errors_of_device(const NodeConfig& config);

/// What a node calls after each failure: counts the errors of its device since then (DeviceErrors).
/// @errors of the returned function: kInvalidArgument once the device has erred too often;
/// kUnavailable once a program found less room on it than it takes; kNotFound: the device is lost
/// to this process (engine::check_device).
[[nodiscard]] std::function<Status(const Error&)> device_check(const NodeConfig& config);

/// run_benchmark() on the node's device, with an error of the device counted as one at work is.
/// @errors kUnavailable: other programs have the GPU's memory; those of run_benchmark(),
/// device_of() without the look at older errors, and DeviceErrors.
[[nodiscard]] Result<Benchmark> measure_device(const NodeConfig& config, std::int64_t duration_ms);

/// The memory in bytes of the device that the node is configured to compute on: this machine's, or
/// the GPU's. @errors as device_of(); kIo.
[[nodiscard]] Result<std::uint64_t> device_memory_bytes(const NodeConfig& config);

/// This machine's memory in bytes. @errors kIo.
[[nodiscard]] Result<std::uint64_t> machine_memory_bytes();

}  // namespace gym::node
