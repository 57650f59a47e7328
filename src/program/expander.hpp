#pragma once

#include <span>
#include <utility>
#include <vector>

#include "gym/program/expand.hpp"

namespace gym::program {

/// The exponents of a product's factors: measured, block by block, or the same for all.
struct FactorExponents {
    static constexpr int kMeasured = -1;
    int a = kMeasured;
    int b = kMeasured;
};

/// Writes the primitives of one macro: one method per building block of docs/MACROS.md. Methods
/// that take `target` write that slot (a macro's output) or, without it, a new temp.
class Expander {
  public:
    Expander(std::span<const Slot> slots, SlotId first_temp) : slots_(slots) {
        expansion_.first_temp = first_temp;
    }

    [[nodiscard]] const Slot& slot(SlotId id) const {
        return id < expansion_.first_temp ? slots_[id]
                                          : expansion_.temps[id - expansion_.first_temp];
    }
    [[nodiscard]] const Dims& dims(SlotId id) const { return slot(id).dims; }
    [[nodiscard]] Expansion take() { return std::move(expansion_); }

    SlotId temp(DType dtype, Dims dims);
    void emit(Opcode code, std::vector<SlotId> inputs, SlotId output,
              const std::vector<std::uint64_t>& attributes = {});

    /// A one-element fill.
    SlotId number(float value);
    SlotId number_bits(std::uint32_t bits);
    /// An elementwise primitive; a new temp has the dims of the input with most elements.
    SlotId map(Opcode code, std::vector<SlotId> inputs, SlotId target = kNoSlot);
    SlotId map_to(Dims dims, Opcode code, std::vector<SlotId> inputs);
    SlotId add(SlotId a, SlotId b) { return map(Opcode::kAdd, {a, b}); }
    SlotId sub(SlotId a, SlotId b) { return map(Opcode::kSub, {a, b}); }
    SlotId mul(SlotId a, SlotId b) { return map(Opcode::kMul, {a, b}); }
    SlotId div(SlotId a, SlotId b) { return map(Opcode::kDiv, {a, b}); }
    SlotId fma(SlotId a, SlotId b, SlotId c) { return map(Opcode::kFma, {a, b, c}); }

    /// Where out[i0, i1, ...] lies in the input, in elements.
    struct Layout {
        Dims dims;
        std::uint64_t offset = 0;
        std::vector<std::uint64_t> strides;
    };
    SlotId copy(SlotId x, const Layout& layout, SlotId target = kNoSlot);
    /// The last two dims swapped.
    SlotId transpose(SlotId x);
    SlotId causal_fill(SlotId x, float value, SlotId target = kNoSlot);

    /// `code` again and again until the last dim is 1.
    SlotId reduce(Opcode code, SlotId x, SlotId target = kNoSlot);
    /// exact_sum of rows; `exponent` < 0: measured, else that constant.
    SlotId exact_sum(SlotId x, SlotId target = kNoSlot, int exponent = kMeasured);
    /// exact_sum over columns of a tensor of `columns` columns.
    SlotId column_sum(SlotId x, std::uint32_t columns, SlotId target = kNoSlot);
    SlotId product(SlotId a, SlotId b, FactorExponents exponents = {}, SlotId target = kNoSlot);
    /// f32 of the dims of `exponents`, i32 [.., 1]: 2 to that power.
    SlotId powers_of_two(SlotId exponents);
    /// The exponents of the rows of x: i32 [.., 1].
    SlotId row_exponents(SlotId x) { return reduce(Opcode::kBlockMax, exponents(x, kMeasured)); }

    static constexpr int kMeasured = FactorExponents::kMeasured;

  private:
    SlotId exponents(SlotId x, int exponent);
    std::span<const Slot> slots_;
    Expansion expansion_;
};

}  // namespace gym::program
