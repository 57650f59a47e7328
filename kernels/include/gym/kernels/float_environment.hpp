// The control register that exact floating point depends on. A library loaded into the process can
// leave flush-to-zero or another rounding mode behind in any thread (a shared object linked with
// -ffast-math does it from its constructor).
#pragma once

namespace gym::kernels {

/// Whether this thread rounds to nearest even and keeps subnormals.
[[nodiscard]] bool float_environment_is_exact();

/// Rounding to nearest even, no flushing, exceptions masked: for the life of the object, on this
/// thread.
class ExactFloatEnvironment {
  public:
    ExactFloatEnvironment();
    ~ExactFloatEnvironment();
    ExactFloatEnvironment(const ExactFloatEnvironment&) = delete;
    ExactFloatEnvironment& operator=(const ExactFloatEnvironment&) = delete;

  private:
    unsigned saved_;
};

}  // namespace gym::kernels
