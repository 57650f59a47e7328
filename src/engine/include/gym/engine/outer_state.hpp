#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/delta.hpp"
#include "gym/engine/state.hpp"
#include "gym/engine/state_layout.hpp"
#include "gym/kernels/dispatch.hpp"
#include "gym/program/program.hpp"

// What the outer step keeps from round to round beside the base (docs/PROTOCOL.md, "Aggregation").
// It is a State of p tensors "momentum.<param>" or, of a program with an update
// (program::update_codec()), of 2 p + 1: the momenta, then "residual.<param>", both f32 like their
// parameters, then "update", the bytes of a delta of codec 1 (u8). What travels, is stored and is
// committed as a job's momentum is this.
namespace gym::engine {

/// States "residual.<param>" of a program with an update.
inline constexpr std::string_view kResidualPrefix = "residual.";
/// The last tensor of such an outer state: the update that made the base.
inline constexpr std::string_view kUpdateTensor = "update";

/// Before the first round: +0 everywhere, and an update of rows of zeros.
/// @errors those of program::update_codec(); kShapeMismatch: `base` is not the program's.
[[nodiscard]] Result<State> zero_outer_state(const program::Program& train, const State& base);

/// encode_state() of zero_outer_state(), which is not made. @errors those of
/// program::update_codec(); kOutOfRange beyond the bounds of a state.
[[nodiscard]] Result<Bytes> encoded_zero_outer_state(const program::Program& train);

/// What the outer step changes in place: the momenta and residuals of `given`, in order, and an
/// update of zeros, because the next one depends on nothing in the last. zero_outer_state() for an
/// empty one.
/// @param given moved, its tensors are not copied.
/// @errors kShapeMismatch naming the tensor that is missing or not like the program's.
[[nodiscard]] Result<State> outer_state_before_step(const program::Program& train,
                                                    const State& base, State given);

/// The form of the program's outer states. @errors those of program::update_codec().
[[nodiscard]] Result<StateLayout> outer_layout(const program::Program& train);

/// Bytes of the largest encoded state that nodes of a job exchange: of a base state or of an outer
/// state. @errors those of program::update_codec(); kOutOfRange beyond the bounds of a state.
[[nodiscard]] Result<std::uint64_t> state_bytes_max(const program::Program& train);

/// The bytes of the update that an outer state holds. Borrowed from it; empty without one.
[[nodiscard]] ByteView update_of(const State& outer);

/// add(base, d) for every element d of the update, in the bytes of the encoded base state: the base
/// of the next round.
/// @param update of the program.
/// @errors kShapeMismatch: it does not have the program's parameters; of `base` as
/// StateIndex::check().
[[nodiscard]] Result<Bytes> with_update(const program::Program& train, Bytes base,
                                        const Delta& update);

/// Publishes elements of one parameter, the first of which begins a row: encodes u in rows, adds
/// what the rows say, d, to the base, and keeps what they leave out, u - d. For every finite u,
/// d + (u - d) is u but for the sign of a zero.
/// @param residual u before, u - d after.
/// @param base (as many elements) moves by d.
/// @param update the bytes of the whole update, of which this writes the rows of these elements.
/// @param row the number of the first element's row (codec::row_begin()).
void publish_rows(kernels::Isa isa, std::span<float> residual, std::span<float> base,
                  std::span<std::uint8_t> update, std::uint64_t row);

}  // namespace gym::engine
