#pragma once

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/state.hpp"
#include "gym/program/delta_codec.hpp"
#include "gym/program/program.hpp"

namespace gym::dispute {

/// What a round record fixes for disputes. All follow from its program and base state: a
/// node that works by a record computes them first and refuses a record that says otherwise.
struct RoundRoots {
    Digest trace_root;          ///< trace_program.hpp
    Digest initial_state_root;  ///< of the base state with a fresh optimizer
    program::DeltaCodec delta_codec = program::DeltaCodec::kFloat;
};

/// @errors of trace_program(); kShapeMismatch if `base` is not the program's parameters.
/// @determinism the same for every `threads`.
[[nodiscard]] Result<RoundRoots> round_roots(const program::Program& train,
                                             const engine::State& base, unsigned threads = 1);

/// The same of an encoded base state, without a copy of it. @errors also kMalformed, kNotFound: it
/// is no state, or one of other tensors.
[[nodiscard]] Result<RoundRoots> round_roots(const program::Program& train, ByteView base,
                                             unsigned threads = 1);

}  // namespace gym::dispute
