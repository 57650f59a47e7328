#pragma once

#include <map>
#include <span>
#include <vector>

#include "gym/program/builder.hpp"

namespace gym::program {

/// One backward pass: what the derivative of an op (macro.hpp) may ask and write. The flow of a
/// slot is the sum of the contributions that have arrived so far.
class Backward {
  public:
    explicit Backward(Builder& builder) : b(builder) {}

    /// The ops so far, differentiated from the last to the first.
    Status run(SlotId loss, std::span<const SlotId> wrt);
    /// kNoSlot if nothing has arrived.
    [[nodiscard]] SlotId flow(SlotId slot) const;

    /// Does a gradient have to arrive here?
    [[nodiscard]] bool needed(SlotId slot) const { return needed_[slot]; }
    /// Adds `gradient` (the dims of the op's output) to the flow of `slot`, reduced to its dims.
    void contribute(SlotId slot, SlotId gradient);
    /// A new f32 temp with the dims of `slot`.
    SlotId like(SlotId slot) { return b.temp(DType::kF32, b.slot(slot).dims); }
    /// dy repeated over the dims of `slot`.
    SlotId spread(SlotId slot, SlotId dy);

    Builder& b;

  private:
    void mark_needed(std::size_t op_count, std::span<const SlotId> wrt);
    SlotId reduce_to(SlotId slot, SlotId gradient);

    std::vector<bool> needed_;  // per slot
    std::map<SlotId, SlotId> flow_;
};

/// Writes the gradient of a primitive. @errors kInvalidArgument if it has none.
Status differentiate_primitive(Backward& b, const Op& op, SlotId dy);

}  // namespace gym::program
