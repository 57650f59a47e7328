#pragma once

#include <cstdint>

#include "gym/dispute/outer_step.hpp"
#include "rules_common.hpp"

/// Shared by the rules about aggregates: what proofs at a column bring.
namespace gym::game::rules {

/// That the column was posted of this element and these are its values. @errors of expect(),
/// check_frame().
Status enter_column(const Cursor& c, const OpFrame& op, const OuterFrame& outer,
                    const Bytes& values);
/// What a frame says that so many deltas count, as the contract reads it: where it says nothing
/// legal, which no declaration leaves, all are withdrawn ones that were held.
program::DeltaGroups counted_by(const OuterFrame& frame, std::uint64_t deltas);
/// The values of a column, and what they count.
struct Column {
    std::vector<float> values;
    dispute::DeltaCount count;
};
/// @errors kOutOfRange: too many.
Result<Column> column_of(const Bytes& values, const OuterFrame& frame);
/// A tensor in a list of tensors.
struct ListedTensor {
    const Digest& root;  ///< over the list
    std::uint64_t number = 0;
    std::uint64_t count = 0;
};
/// The element of a tensor that has the shape of the disputed one. @errors of merkle_verify() and
/// check_chunks(); kOutOfRange.
Result<float> element_under(const ListedTensor& tensor, const OpFrame& op, std::uint64_t element,
                            const dispute::ChunksOpening& opening);

}  // namespace gym::game::rules
