#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/dispute/trace_program.hpp"
#include "gym/program/reach.hpp"

/// One element of one primitive from the operand elements that it depends on: what the contract
/// OneStep computes, in the scalar functions of kernels/.
namespace gym::dispute {

/// A primitive alone, for questions about single elements. Immutable.
class ElementOp {
  public:
    /// @errors of program::check_op(): the record's shapes or attributes are not what its opcode
    /// takes.
    [[nodiscard]] static Result<ElementOp> create(PrimitiveRecord record);

    [[nodiscard]] const PrimitiveRecord& record() const { return record_; }
    /// Whether operand 1 says where operand 0 is read.
    [[nodiscard]] bool gathers() const;
    /// The elements of operand `operand` that element `element` depends on; count 0 if none.
    /// @param index what operand 1 says, of primitives that gather.
    /// @pre there are such an operand and element.
    [[nodiscard]] program::ElementRange reach(std::size_t operand, std::uint64_t element,
                                              std::int32_t index) const;
    /// The element's bytes, little-endian, by exactly the bytes of reach() of each operand.
    /// @errors kShapeMismatch for another number of operands or bytes; kOutOfRange for an element
    /// that the output does not have.
    [[nodiscard]] Result<Bytes> evaluate(std::span<const Bytes> operands,
                                         std::uint64_t element) const;

  private:
    ElementOp() = default;
    Status check_operands(std::span<const Bytes> operands, std::uint64_t element) const;
    PrimitiveRecord record_;
    std::vector<program::Slot> slots_;  // operands, then the output
    program::Op op_;
};

}  // namespace gym::dispute
