#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "gym/common/result.hpp"

namespace gym::node {

/// The errors of a node's devices (engine::device_erred), one a line in the file "device-errors"
/// of its data folder: the time in milliseconds, the device, what was found. People may read it,
/// and remove it once a device is fixed. Not thread-safe.
class DeviceErrors {
  public:
    /// The third error of a device is its last: the node no longer computes on it.
    static constexpr unsigned kErrorsMax = 3;

    /// @param device engine::device_identity(): a card takes its errors along to another slot, and
    /// another card in its place has none.
    DeviceErrors(const std::filesystem::path& data_dir, std::string device)
        : file_(data_dir / "device-errors"), device_(std::move(device)) {}

    [[nodiscard]] const std::string& device() const { return device_; }
    /// Errors of this device. @errors kIo, kOutOfRange: the file cannot be read.
    [[nodiscard]] Result<unsigned> count() const;
    /// On disk when it returns. @errors kIo, kOutOfRange.
    Status add(std::string_view what, std::int64_t now_ms) const;
    /// @errors kInvalidArgument: the device erred too often, so the configuration must name another
    /// one; what to do about it. Those of count().
    [[nodiscard]] Status check() const;

  private:
    [[nodiscard]] Result<std::string> text() const;

    std::filesystem::path file_;
    std::string device_;
};

}  // namespace gym::node
