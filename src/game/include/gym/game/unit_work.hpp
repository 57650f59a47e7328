#pragma once

#include <cstdint>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/dispute/macro_trace.hpp"
#include "gym/dispute/opening.hpp"
#include "gym/dispute/step_trace.hpp"
#include "gym/dispute/trace_program.hpp"

/// One side's own run of a unit, from which its moves are made: computed on request, and the
/// latest of each kind kept. Pointers hold until the next call of the same function.
namespace gym::game {

class UnitWork {
  public:
    virtual ~UnitWork() = default;

    [[nodiscard]] virtual const dispute::TraceProgram& trace() const = 0;
    [[nodiscard]] virtual const dispute::TraceTrees& records() const = 0;
    /// Records and state roots after every step: one run of the whole unit, once.
    virtual Result<const dispute::UnitStates*> states() = 0;
    /// A step's trace leaves and what it starts from: one run up to the step.
    virtual Result<const dispute::StepTrace*> step(std::uint32_t step) = 0;
    /// Tensor roots of the outputs of all primitives of the macro op that writes `leaf`; a second
    /// run of the step.
    virtual Result<const std::vector<Digest>*> primitives(std::uint32_t step,
                                                          std::uint32_t leaf) = 0;
    /// Output and operands of primitive `primitive` of that macro op.
    virtual Result<const dispute::TensorTrace*> tensor(std::uint32_t step, std::uint32_t leaf,
                                                       std::uint32_t primitive) = 0;
    /// The token windows of a step as a tensor.
    virtual Result<const dispute::TracedTensor*> windows(std::uint32_t step) = 0;
    /// The unit's delta as a tensor u8 [size]; needs a run of the whole unit, once.
    virtual Result<const dispute::TracedTensor*> delta() = 0;

    /// An element of a state slot in the states around the unit: the chunk that has it with its
    /// paths, up to the state's root.
    struct SlotElement {
        dispute::ChunksOpening final, base;
    };
    virtual Result<SlotElement> slot_element(std::uint32_t slot, std::uint64_t element) = 0;
    /// The dataset's tokens, and the chunk that holds token `token`, up to the dataset's root.
    virtual Result<dispute::ChunksOpening> dataset_chunk(std::uint64_t token) = 0;
    [[nodiscard]] virtual std::uint64_t dataset_tokens() const = 0;
};

}  // namespace gym::game
