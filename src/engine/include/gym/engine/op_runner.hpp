#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "gym/common/result.hpp"
#include "gym/engine/engine.hpp"
#include "gym/program/opcode.hpp"
#include "gym/program/program.hpp"

namespace gym::engine {

/// A tensor in the caller's memory, row-major and aligned for its elements.
struct OpInput {
    program::DType dtype = program::DType::kF32;
    program::Dims dims;
    const void* data = nullptr;
};
struct OpOutput {
    program::DType dtype = program::DType::kF32;
    program::Dims dims;
    void* data = nullptr;
};

/// Runs single ops of docs/NUMERICS.md, each with the bits that it has inside a program: how other
/// frameworks use the ops. Shapes that were seen before are not checked again. Used by one thread
/// at a time; its own threads split the work.
class OpRunner {
  public:
    /// @errors of Engine::create() for the options.
    static Result<OpRunner> create(const EngineOptions& options = {});
    OpRunner(OpRunner&&) noexcept;
    OpRunner& operator=(OpRunner&&) noexcept;
    ~OpRunner();

    /// Runs `code` once. Outputs must not overlap inputs, but for adamw, whose outputs may be the
    /// arrays of their old values. Indices outside a table are clamped, as the op defines.
    /// @errors kShapeMismatch, kInvalidArgument, kOutOfRange: the rule of the op that is broken.
    Status run(program::Opcode code, std::span<const std::uint64_t> attributes,
               std::span<const OpInput> inputs, std::span<const OpOutput> outputs);

  private:
    struct Impl;
    explicit OpRunner(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::engine
