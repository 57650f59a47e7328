#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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
/// kNotFound: no such device.
[[nodiscard]] Result<std::string> device_model(std::string_view name);

/// Which device it is, for a record of what it did: "cpu", or a card's model and UUID, "NVIDIA H100
/// 80GB HBM3 (GPU-3a9c...)", which it keeps in another slot and among other cards. The device is
/// not opened: that takes some of its memory.
/// @errors as device_model().
[[nodiscard]] Result<std::string> device_identity(std::string_view name);

/// Whether the device answers this process. After some errors, such as an illegal access or a lost
/// driver, every call of the process fails, and only another process can use the device again.
/// @errors as device_model(); kNotFound, too, for a device that is lost to this process.
[[nodiscard]] Status check_device(std::string_view name);

/// What is free of a CUDA device's memory for an engine of this process, in bytes: neither other
/// programs nor the process itself have it. Never 0, which means no limit where nodes register it.
/// @errors as device_model(); kInvalidArgument for "cpu"; kUnavailable: nothing is free, or the
/// driver does not say.
[[nodiscard]] Result<std::uint64_t> free_device_bytes(std::string_view name);

/// A run failed because its device erred: a check of what it computed found a wrong bit
/// (docs/adr/0038-checked-devices.md). Nothing of the run is to be used; another run may succeed.
/// @param device as parse_device() takes it; "cpu" where the host's memory may be the cause.
/// @return kInternal, "the device erred: " ("the host erred: " for "cpu") and what was found.
/// Thread-safe.
[[nodiscard]] Error device_erred(std::string_view device, const std::string& what);
/// What those of a device were in this process, in their order. The error that a run ends with may
/// be another one, and its text could be that of a peer. Thread-safe.
[[nodiscard]] std::vector<std::string> device_errors(std::string_view device);

/// A program found less free memory on the device than it takes. Thread-safe.
void note_no_room(std::string_view device);
/// How often that was in this process. Thread-safe.
[[nodiscard]] std::uint64_t times_without_room(std::string_view device);

/// What to do about a build without CUDA code; messages say it. The version is the one of
/// cmake/GymCuda.cmake.
inline constexpr std::string_view kHowToBuildCuda =
    "install NVIDIA's CUDA Toolkit 12.0 or newer, then run `make build` and "
    "`sudo cmake --install build/release --prefix /usr/local` again";

/// A CUDA device of this machine.
struct CudaDevice {
    int index = 0;
    std::string model;  ///< "NVIDIA GeForce RTX 4090"
    std::string uuid;   ///< "GPU-3a9c..."
    std::uint64_t memory_bytes = 0;
    std::string unusable_because;  ///< empty: this build can compute on it

    [[nodiscard]] std::string name() const { return "cuda:" + std::to_string(index); }
};
struct CudaDevices {
    bool built_in = false;            ///< whether this build has CUDA code at all
    std::vector<CudaDevice> devices;  ///< by index
    std::string none_because;         ///< if there are none: the reason, and what to do
};
/// What the driver shows. No device is opened, and no program is run.
[[nodiscard]] CudaDevices cuda_devices();

}  // namespace gym::engine
