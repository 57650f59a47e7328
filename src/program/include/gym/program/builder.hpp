#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/program/program.hpp"

namespace gym::program {

/// Writes a program op by op. Shapes that do not fit show up as the error of build(); until then
/// every method returns a slot. Not thread-safe.
class Builder {
  public:
    // Slots.
    SlotId param(std::string name, Dims dims, Init init);
    SlotId state(std::string name, Dims dims, Init init);
    SlotId constant(std::string name, Dims dims, const std::vector<float>& values);
    /// An i32 constant.
    SlotId indices(std::string name, Dims dims, const std::vector<std::int32_t>& values);
    /// A constant slot of another program, with its name.
    SlotId constant(Slot slot) { return add_slot(std::move(slot)); }
    SlotId input(std::string name, DType dtype, Dims dims);
    SlotId temp(DType dtype, Dims dims);
    void set_next(SlotId slot, SlotId value);
    void output(std::string name, SlotId slot);

    // Elementwise primitives; the output has the dims of the operand with most elements.
    /// A one-element temp with this value; one op per value.
    SlotId scalar(float value);
    SlotId add(SlotId a, SlotId b) { return elementwise(Opcode::kAdd, {a, b}); }
    SlotId sub(SlotId a, SlotId b) { return elementwise(Opcode::kSub, {a, b}); }
    SlotId mul(SlotId a, SlotId b) { return elementwise(Opcode::kMul, {a, b}); }
    SlotId div(SlotId a, SlotId b) { return elementwise(Opcode::kDiv, {a, b}); }
    SlotId min(SlotId a, SlotId b) { return elementwise(Opcode::kMin, {a, b}); }
    /// a * b + c, rounded once.
    SlotId fma(SlotId a, SlotId b, SlotId c) { return elementwise(Opcode::kFma, {a, b, c}); }
    SlotId unary(Opcode code, SlotId x) { return elementwise(code, {x}); }
    SlotId elementwise(Opcode code, std::vector<SlotId> inputs);

    // Movement.
    SlotId strided_copy(SlotId x, Dims dims, std::uint64_t offset,
                        const std::vector<std::uint64_t>& strides);
    SlotId concat(const std::vector<SlotId>& parts);
    SlotId gather_rows(SlotId table, SlotId indices);
    /// x [.., T, T] with `value` right of the diagonal.
    SlotId causal_fill(SlotId x, float value);

    // Macros; see docs/MACROS.md for shapes.
    SlotId row_sum(SlotId x);
    SlotId column_sum(SlotId x, Dims dims);
    SlotId sum_squares(SlotId x);
    /// The exact sum, element by element, of 2 to 12 tensors of equal dims.
    SlotId sum_tensors(const std::vector<SlotId>& parts);
    SlotId matmul(SlotId a, SlotId b, bool transpose_a = false, bool transpose_b = false);
    SlotId layernorm(SlotId x, SlotId gamma, SlotId beta, float epsilon);
    /// Who reads whom in a window.
    enum class Reads : std::uint8_t {
        kEarlier,  ///< each token itself and those before it
        kAll,      ///< each token all of them
    };
    SlotId attention(SlotId qkv, std::uint32_t context, std::uint32_t heads,
                     Reads reads = Reads::kEarlier);
    /// The same with scores times `scale` instead of 1 / sqrt(size of a head).
    SlotId attention(SlotId qkv, std::uint32_t context, std::uint32_t heads, double scale,
                     Reads reads = Reads::kEarlier);
    /// The same, in which a token reads only its document: of those before it the ones whose number
    /// is not below its own. @param documents f32 (rows, 1), which never fall within a window.
    SlotId attention_documents(SlotId qkv, SlotId documents, std::uint32_t context,
                               std::uint32_t heads);
    SlotId rmsnorm(SlotId x, SlotId gamma, float epsilon);
    /// Turns the first `heads` heads of each row of x by the angles of the tables.
    SlotId rope(SlotId x, SlotId cosine, SlotId sine, std::uint32_t heads);
    /// q, k and v rows with `kv_heads` heads of k and v, as attention() wants them.
    SlotId repeat_heads(SlotId x, std::uint32_t heads, std::uint32_t kv_heads);
    SlotId swiglu(SlotId gate, SlotId up);
    SlotId cross_entropy(SlotId logits, SlotId targets);

    /// Any op, as it is.
    void append(Op op) { parts_.ops.push_back(std::move(op)); }
    [[nodiscard]] const std::vector<Slot>& slots() const { return parts_.slots; }
    [[nodiscard]] const std::vector<Op>& ops() const { return parts_.ops; }
    [[nodiscard]] const Slot& slot(SlotId id) const { return parts_.slots[id]; }

    /// @errors of Program::create().
    [[nodiscard]] Result<Program> build() const { return Program::create(parts_); }

  private:
    SlotId add_slot(Slot slot);
    /// @param op without its outputs, of which the first is returned; its inputs begin with qkv.
    SlotId append_attention(Op op);
    ProgramParts parts_;
    std::vector<std::pair<std::uint32_t, SlotId>> scalars_;
};

}  // namespace gym::program
