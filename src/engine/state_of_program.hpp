#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/engine/delta.hpp"
#include "gym/engine/state.hpp"
#include "gym/program/program.hpp"

namespace gym::engine {

/// Name, dtype and dims of `slot`, no bytes.
[[nodiscard]] StateTensor empty_tensor(const program::Slot& slot);

/// Param and state slots in slot order: the tensors of a training state.
[[nodiscard]] std::vector<program::SlotId> state_slots(const program::Program& program);

/// @errors kShapeMismatch naming the tensor that is not like its slot.
Status check_tensor(const program::Slot& slot, const StateTensor& tensor);
Status check_state(const program::Program& program, std::span<const program::SlotId> slots,
                   const State& state);

/// @errors kShapeMismatch: the delta was decoded for a program with other parameters.
Status check_fits(const program::Program& program, const Delta& delta);

/// The tensors of `state` that `program` asks for by name: a program cut out of another needs
/// fewer.
/// @errors kShapeMismatch.
[[nodiscard]] Result<State> parameters_for(const program::Program& program, const State& state);

}  // namespace gym::engine
