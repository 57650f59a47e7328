#pragma once

#include "gym/common/bytes.hpp"
#include "gym/engine/state.hpp"

namespace gym::engine {

/// The canonical bytes of a decoded delta: what encode_delta() made it from.
[[nodiscard]] Bytes encode_delta_state(const State& delta);

}  // namespace gym::engine
