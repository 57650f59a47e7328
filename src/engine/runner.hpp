#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/state.hpp"
#include "gym/program/program.hpp"

namespace gym::engine {

/// A program together with its state, on the device that runs it. Every device gives the same bits.
/// Not thread-safe.
class Runner {
  public:
    virtual ~Runner() = default;
    /// As Engine::run().
    virtual Status run(std::span<const NamedTensorView> inputs) = 0;
    /// The bytes of an output of the last run. @errors kNotFound.
    [[nodiscard]] virtual Result<Bytes> output(std::string_view name) = 0;
    /// tensor_root of each of these outputs. @errors kNotFound.
    [[nodiscard]] virtual Result<std::vector<Digest>> output_roots(
        std::span<const std::string_view> names) = 0;
    [[nodiscard]] virtual Result<Digest> state_root() = 0;
    /// Borrowed until the next run. @errors kUnavailable when the device fails.
    [[nodiscard]] virtual Result<const State*> state() = 0;
    /// The state for good: the runner is of no use afterwards. @errors as state().
    [[nodiscard]] virtual Result<State> take_state() = 0;
    virtual void set_trace(std::function<void(const TraceEntry&)> sink) = 0;
};

/// A runner on options.device. @errors kInvalidArgument (options, or a build without
/// CUDA), kOutOfRange (memory), kShapeMismatch (state), kNotFound (no such device).
[[nodiscard]] Result<std::unique_ptr<Runner>> make_runner(const program::Program& program,
                                                          State state,
                                                          const EngineOptions& options);

/// Those of make_runner() that are on a CUDA device; defined in builds with CUDA alone.
[[nodiscard]] Result<std::unique_ptr<Runner>> make_cuda_runner(const program::Program& program,
                                                               State state, int device,
                                                               std::uint64_t memory_bytes_max);

}  // namespace gym::engine
