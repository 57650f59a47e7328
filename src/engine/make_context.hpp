#pragma once

#include "gym/common/result.hpp"
#include "gym/engine/engine.hpp"
#include "gym/kernels/context.hpp"

namespace gym::engine {

/// The instruction set and threads that `options` ask for.
/// @errors kInvalidArgument for an unknown or missing instruction set, and for no or too many
/// threads.
[[nodiscard]] Result<kernels::Isa> choose_isa(const EngineOptions& options);
[[nodiscard]] Result<kernels::Context> make_context(const EngineOptions& options);

}  // namespace gym::engine
