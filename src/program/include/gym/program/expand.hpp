#pragma once

#include <span>
#include <vector>

#include "gym/program/program.hpp"

namespace gym::program {

/// Primitives that give a macro's exact bits. Slot ids from `first_temp` on name `temps`; the last
/// writers of the macro's outputs write the macro's own output slots.
struct Expansion {
    SlotId first_temp = 0;
    std::vector<Slot> temps;
    std::vector<Op> ops;
};

/// The definition of a macro. A primitive expands to itself. `op` must be legal over `slots`
/// (validate.hpp); `first_temp` is normally slots.size().
[[nodiscard]] Expansion expand(std::span<const Slot> slots, const Op& op, SlotId first_temp);

/// The same program in primitives alone. The original slots keep their ids; temps are appended.
/// @errors kOutOfRange if the expansion exceeds a bound of program.hpp.
[[nodiscard]] Result<Program> expand(const Program& program);

}  // namespace gym::program
