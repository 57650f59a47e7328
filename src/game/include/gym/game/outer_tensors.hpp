#pragma once

#include <cstdint>

#include "gym/dispute/trace_program.hpp"
#include "gym/game/moves.hpp"

/// Which tensors the trees of an aggregate have (docs/PROTOCOL.md, "Aggregation"; OuterTensors of
/// contracts/src/dispute): the base p parameters; the outer state p momenta and, of a program with
/// an update, then p residuals and the update; the record's state both.
namespace gym::game {

[[nodiscard]] bool has_update(const dispute::TraceHeader& header);
/// Tensors of the outer state.
[[nodiscard]] std::uint64_t outer_count(const dispute::TraceHeader& header);
/// Tensors of a tree. @pre not OuterTree::kNone.
[[nodiscard]] std::uint64_t tensor_count(const dispute::TraceHeader& header, OuterTree tree);
/// Whether tensor `number` of the tree is the update.
[[nodiscard]] bool is_update(const dispute::TraceHeader& header, OuterTree tree,
                             std::uint64_t number);
[[nodiscard]] bool is_residual(const dispute::TraceHeader& header, OuterTree tree,
                               std::uint64_t number);
/// The parameter whose element, momentum or residual tensor `number` is.
/// @pre the tree is the base or the outer state.
[[nodiscard]] std::uint64_t parameter_of(const dispute::TraceHeader& header, OuterTree tree,
                                         std::uint64_t number);
/// The number of a parameter's residual in the outer state. @pre has_update().
[[nodiscard]] std::uint64_t residual_number(const dispute::TraceHeader& header,
                                            std::uint64_t parameter);
/// The number of the update in the outer state. @pre has_update().
[[nodiscard]] std::uint64_t update_number(const dispute::TraceHeader& header);

}  // namespace gym::game
