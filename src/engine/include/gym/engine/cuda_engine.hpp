#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/state.hpp"

namespace gym::engine {

struct CudaOptions {
    int device = 0;
    /// Refuse programs whose buffers need more than this, or than what is free on the device; 0:
    /// only the latter.
    std::uint64_t memory_bytes_max = 0;
    /// Look for the device's errors (docs/adr/0038-checked-devices.md). Changes no bit.
    bool checked = true;
    /// Start what each run repeats as CUDA graphs (docs/adr/0046-repeated-work-as-graphs.md).
    /// Changes no bit.
    bool graphs = true;
    /// Told once, in a line, why there are no graphs; may be null.
    std::function<void(const std::string&)> notice;
};

/// Empty if this machine has a device that CudaEngine can use, else why not.
[[nodiscard]] std::string cuda_unavailable_reason();

/// Runs one program on a CUDA device with the bits of Engine. State and buffers stay on the device
/// from run to run. With checks, a run waits for the device at its end, and every function that
/// gives results fails with device_erred() instead of giving wrong ones; the engine is of no
/// use afterwards. Not thread-safe.
class CudaEngine {
  public:
    /// @errors kNotFound (no device), kOutOfRange (memory), kInvalidArgument (an op that has no
    /// device kernel).
    static Result<CudaEngine> create(const program::Program& program,
                                     const CudaOptions& options = {});
    CudaEngine(CudaEngine&&) noexcept;
    CudaEngine& operator=(CudaEngine&&) noexcept;
    ~CudaEngine();

    /// The parameters and the optimizer's state for the runs that follow. @errors kShapeMismatch.
    Status load(const State& state);
    /// Waits for all runs and copies the state back. `state` must be shaped as load() wants it.
    Status store(State& state);

    /// Starts every op once. `inputs` as in Engine::run(). @errors kShapeMismatch; a failure of the
    /// device may show at a later call.
    Status run(std::span<const NamedTensorView> inputs);

    /// Waits, then copies an output of the program. @errors kNotFound.
    [[nodiscard]] Result<Bytes> output(std::string_view name);
    /// tensor_root of each of these outputs, hashed on the device, with one download for all.
    /// @errors as output(); kOutOfRange for more names than the program has outputs.
    [[nodiscard]] Result<std::vector<Digest>> output_roots(std::span<const std::string_view> names);
    /// state_root() of the state, hashed on the device.
    [[nodiscard]] Result<Digest> state_root();

    /// As Engine::set_trace(): every output is copied to the host.
    void set_trace(std::function<void(const TraceEntry&)> sink);

    [[nodiscard]] std::string device_name() const;

  private:
    struct Impl;
    explicit CudaEngine(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::engine
