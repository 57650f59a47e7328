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
#include "gym/engine/record.hpp"
#include "gym/engine/state.hpp"

namespace gym::engine {

/// How a program is run. Nothing here can change a bit of any result.
struct EngineOptions {
    unsigned threads = 1;
    /// "auto" (best the CPU has), "scalar", "avx2", "avx512" or "amx".
    /// @errors of Engine::create: kInvalidArgument for a level this CPU lacks.
    std::string isa = "auto";
    /// Refuse programs that need more of the device's memory than this (memory.hpp); 0: than there
    /// is.
    std::uint64_t memory_bytes_max = 0;
    /// "cpu", "cuda" or "cuda:N": where training and evaluation run, in a build with CUDA. An
    /// Engine itself is always on the CPU. A program must fit into the device's memory.
    std::string device = "cpu";
    /// The number of the first run, which only fault injection looks at (fault_injection.hpp).
    std::uint64_t first_run = 0;
};

/// Names the batch of a step; with the dataset it decides every token (see batch.hpp).
struct BatchKey {
    Digest job_seed;
    std::uint64_t round = 0;
    std::uint32_t slot = 0;
};

/// A tensor by name, borrowed for the duration of a call.
struct NamedTensorView {
    std::string_view name;
    ByteView bytes;
};

/// One output of a macro op of a traced step. commit::chunk_leaves(output) are its chunks' leaves:
/// all outputs in order make the step's trace chunks.
struct TraceEntry {
    std::uint32_t op = 0;            ///< index in program.ops()
    std::uint32_t output_index = 0;  ///< an op has up to three outputs
    std::string_view opcode;
    ByteView output;     ///< borrowed during the call
    Digest output_root;  ///< commit::tensor_root of the output
};

/// Runs one program: fused kernels, a fixed memory plan, a fixed set of threads. One Engine is used
/// by one thread at a time; separate Engines are independent. Results are bitwise equal for every
/// EngineOptions.
class Engine {
  public:
    /// @errors kInvalidArgument (options), kOutOfRange (memory).
    static Result<Engine> create(const program::Program& program,
                                 const EngineOptions& options = {});
    Engine(Engine&&) noexcept;
    Engine& operator=(Engine&&) noexcept;
    ~Engine();

    /// Runs every op once. `inputs` must hold exactly the program's input slots, by name; `state`
    /// its parameter and state slots, and is updated in place by the ops that write them.
    /// @errors kShapeMismatch, kInvalidArgument (a token outside the vocabulary). NaN and Inf are
    /// no errors: the ops define what becomes of them, and they end up in the record's bits.
    Status run(State& state, std::span<const NamedTensorView> inputs);

    /// The bytes of a slot marked as output (or any slot that is not reused) after run().
    [[nodiscard]] Result<ByteView> output(std::string_view name) const;

    /// The next run() calls `sink` after each macro op. Costs a hash per output; empty turns it
    /// off.
    void set_trace(std::function<void(const TraceEntry&)> sink);

    /// run() calls `sink` after each op with its index and the seconds that it took; empty turns it
    /// off.
    void set_op_timer(std::function<void(std::uint32_t op, double seconds)> sink);

    /// The instruction set actually used ("avx512").
    [[nodiscard]] std::string isa() const;

  private:
    struct Impl;
    explicit Engine(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::engine
