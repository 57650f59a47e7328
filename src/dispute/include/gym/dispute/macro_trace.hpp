#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/dispute/step_trace.hpp"
#include "gym/dispute/tensor_memory.hpp"
#include "gym/dispute/trace_program.hpp"
#include "gym/engine/op_runner.hpp"

/// Answers of a dispute below a macro op: roots of its primitives' outputs, then the chunks of
/// one of them.
namespace gym::dispute {

struct MacroOptions {
    engine::EngineOptions engine;
    SpillOptions spill;
    /// Where the primitives give other bits than the fused kernel did (a broken device), claim the
    /// kernel's as what the primitive wrote: they are what was committed to. Else that is an error.
    bool claim_fused = false;
};

/// A tensor with the leaves of its chunks. Shared by the traces that read it.
struct TracedTensor {
    Shape shape;
    std::shared_ptr<const TensorMemory> memory;
    std::vector<Digest> chunk_leaves;

    [[nodiscard]] ByteView bytes() const { return std::as_const(*memory).bytes(); }
    /// A copy of `bytes`, on the heap or in a file as `spill` says. @errors kIo.
    [[nodiscard]] static Result<TracedTensor> copy(const Shape& shape, ByteView bytes,
                                                   const SpillOptions& spill, unsigned threads);
    /// The content of chunk `index`, without padding. @pre there is one.
    [[nodiscard]] ByteView chunk(std::uint64_t index) const;
    /// Its tensor root.
    [[nodiscard]] Digest root() const;
};

/// One primitive of a macro op with its operands.
struct TensorTrace {
    std::uint32_t primitive = 0;  ///< counted within the macro op
    TracedTensor output;
    std::vector<TracedTensor> operands;
};

/// A macro op of one step, run primitive by primitive. Holds the macro op's operands, and no
/// primitive's output for longer than later ones read it. Not thread-safe.
class MacroTrace {
  public:
    /// Runs step.step once more from step.before, with fused kernels, to take the operands, then
    /// the primitives of op `op`.
    /// @errors of trace_step(); kOutOfRange if there is no such op; kIo where large tensors find no
    /// room; kInternal if the primitives' bits are not the fused kernel's (see claim_fused).
    [[nodiscard]] static Result<MacroTrace> create(const engine::Unit& unit,
                                                   const TraceProgram& trace, const StepTrace& step,
                                                   std::uint32_t op,
                                                   const MacroOptions& options = {});

    /// Tensor root of every primitive's output. Their Merkle root is the root of the macro op's
    /// primitive tree.
    [[nodiscard]] const std::vector<Digest>& roots() const { return roots_; }
    [[nodiscard]] const MacroRange& range() const { return range_; }
    /// Bytes of all primitives' outputs that were there at once, at most.
    [[nodiscard]] std::uint64_t peak_bytes() const { return peak_bytes_; }
    /// Whether any tensor was in a file.
    [[nodiscard]] bool spilled() const { return spilled_; }

    /// Runs `primitive` and those that it follows from again, and keeps what it reads and writes.
    /// @errors kOutOfRange if there is no such primitive; kIo.
    [[nodiscard]] Result<TensorTrace> tensor(std::uint32_t primitive);

    /// A macro op over operands that the caller has: one for every source of `records` that is not
    /// a primitive. @errors kNotFound if one is missing; kIo; those of the ops.
    using Operands = std::map<std::pair<Source::Kind, std::uint32_t>, ByteView>;
    [[nodiscard]] static Result<MacroTrace> run(std::vector<PrimitiveRecord> records,
                                                const Operands& operands,
                                                const std::map<Digest, ByteView>& constants,
                                                const MacroOptions& options = {});

  private:
    using Shared = std::shared_ptr<const TensorMemory>;
    MacroTrace() = default;
    using Provide = std::function<Result<Shared>(const Source&)>;
    static Result<MacroTrace> run_over(std::vector<PrimitiveRecord> records, const Provide& provide,
                                       const MacroOptions& options);
    /// @param outputs of the primitives that have run, null where nothing is left.
    Result<Shared> operand(const Source& source, std::span<const Shared> outputs) const;
    Result<Shared> run_one(engine::OpRunner& runner, const PrimitiveRecord& record,
                           std::span<const Shared> outputs);
    Status hash_all();
    Result<std::vector<Shared>> run_for(std::uint32_t primitive);
    Status claim(const TraceProgram& trace, const StepTrace& step,
                 const std::map<std::uint32_t, Shared>& fused);

    std::vector<PrimitiveRecord> records_;
    MacroRange range_;
    MacroOptions options_;
    std::map<std::pair<Source::Kind, std::uint32_t>, Shared> operands_;
    std::map<Digest, Shared> constants_;
    std::map<std::uint32_t, Shared> claims_;  ///< outputs that are not what the primitive gives
    std::vector<Digest> roots_;
    std::uint64_t peak_bytes_ = 0;
    bool spilled_ = false;
};

}  // namespace gym::dispute
