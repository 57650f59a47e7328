#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gym/kernels/thread_pool.hpp"
#include "gym/program/expand.hpp"
#include "gym/program/program.hpp"

namespace gym::engine {

/// Slots of a program followed by the temps of an expansion, by id.
class SlotTable {
  public:
    explicit SlotTable(std::span<const program::Slot> base,
                       std::span<const program::Slot> extra = {})
        : base_(base), extra_(extra) {}
    [[nodiscard]] const program::Slot& operator[](program::SlotId id) const {
        return id < base_.size() ? base_[id] : extra_[id - base_.size()];
    }

  private:
    std::span<const program::Slot> base_;
    std::span<const program::Slot> extra_;
};

/// Memory of each slot, by id: size_bytes(slot) bytes, aligned for its dtype.
using SlotPointers = std::vector<std::uint8_t*>;

/// One primitive of docs/NUMERICS.md in plain scalar loops: the ground truth that every fused
/// kernel is compared with. `op` must be legal (program/validate.hpp) and a primitive.
/// @param pool shares the loops' iterations, which are independent; nullptr: the caller alone.
void run_primitive(const SlotTable& slots, const program::Op& op, const SlotPointers& memory,
                   kernels::ThreadPool* pool = nullptr);

/// A macro by its definition: runs the ops of `expansion` in order. `memory` holds the slots that
/// exist without the expansion; its temps get memory for the duration of the call.
/// @pre expansion.first_temp == slots.size() == memory.size().
void run_primitives(std::span<const program::Slot> slots, const program::Expansion& expansion,
                    const SlotPointers& memory);

}  // namespace gym::engine
