#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/engine/device.hpp"

namespace gym::node {

/// Whether `wanted`, as people write it ("rtx4090", "RTX 4090", "a100-80gb"), means the device that
/// calls itself `model` ("NVIDIA GeForce RTX 4090"). Case, separators and the maker's words do not
/// count; each part has to be whole: "a10" is no "NVIDIA A100".
[[nodiscard]] bool means_gpu(std::string_view wanted, std::string_view model);

/// The models in the NVIDIA driver's own listing, which any build can read.
[[nodiscard]] std::vector<std::string> driver_gpus(
    const std::filesystem::path& listing = "/proc/driver/nvidia/gpus");

/// The GPUs of a machine, as this build and the driver see them.
struct Gpus {
    engine::CudaDevices cuda;
    std::vector<std::string> driver;  ///< models

    [[nodiscard]] static Gpus of_this_machine();
};

/// What a node computes on.
struct ChosenDevice {
    std::string device;  ///< cpu, cuda or cuda:N
    std::string model;
    std::uint64_t memory_bytes = 0;  ///< of a GPU; 0 for the CPU
    std::string note;                ///< for the user; may be empty
};

/// The device for `--gpu-type wanted` and `--device named`; either may be empty. Without both it is
/// the CPU. @errors kInvalidArgument: this machine has no such GPU, or the two contradict each
/// other, with what there is and what to do.
[[nodiscard]] Result<ChosenDevice> choose_device(const Gpus& gpus, const std::string& wanted,
                                                 const std::string& named);

}  // namespace gym::node
