#pragma once

#include <string>
#include <string_view>

#include "gym/common/result.hpp"

namespace gym::engine {

/// Where a program runs.
struct DeviceChoice {
    bool cuda = false;
    int index = 0;  ///< of the CUDA device
};

/// "cpu", "cuda" (the first device) or "cuda:N". @errors kInvalidArgument.
[[nodiscard]] Result<DeviceChoice> parse_device(std::string_view name);

/// The device's own name: "cpu", "NVIDIA H100 80GB HBM3".
/// @errors as parse_device(); also kInvalidArgument for a build without CUDA;
/// kUnavailable: no such device.
[[nodiscard]] Result<std::string> device_model(std::string_view name);

}  // namespace gym::engine
