// cuBLAS as a peer, and the device's clock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "gym/kernels/cuda/device.hpp"

namespace gym::bench {

/// Of the operands; results are f32 (i8: i32).
enum class Precision { kF32, kTf32, kBf16, kI8 };

/// Random operands on a device and cuBLAS's products of them. Ends the process on any failure.
class CublasPeer {
  public:
    /// @param elements of the largest operand or result.
    CublasPeer(kernels::cuda::Device& device, std::int64_t elements);
    ~CublasPeer();

    [[nodiscard]] const float* a() const;
    [[nodiscard]] const float* b() const;
    [[nodiscard]] float* out() const;

    /// out (m, n) = a (m, k) * b (n, k)^T on the device's stream.
    void multiply(Precision precision, std::int64_t m, std::int64_t n, std::int64_t k);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Seconds of one call of each by events on the device's stream, medians over `repeats` rounds in
/// which every one gets its turn; a turn repeats its call for some 20 ms. Ends the process if a
/// call fails.
[[nodiscard]] std::vector<double> device_seconds(kernels::cuda::Device& device,
                                                 std::span<const std::function<void()>> calls,
                                                 int repeats);

}  // namespace gym::bench
