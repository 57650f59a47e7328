#pragma once

#include <cstdint>

#include "gym/dispute/outer_step.hpp"
#include "rules_common.hpp"

/// Shared by the rules about aggregates: what proofs at a column bring.
namespace gym::game::rules {

/// That the column was posted of this element, or a part of it, and these are its bytes.
/// @errors kConflict, kMismatch; kMalformed: not as many as an answer has; kOutOfRange: too many.
Status enter_column(const Cursor& c, const OpFrame& op, const OuterFrame& outer,
                    const Bytes& posted);
/// What a frame says that so many deltas count, as the contract reads it: where it says nothing
/// legal, which no declaration leaves, all are withdrawn ones that were held.
program::DeltaGroups counted_by(const OuterFrame& frame, std::uint64_t deltas);
/// What the outer step makes of a column. @param posted that enter_column() has taken, not of a
/// part. @pre exact floating point.
dispute::OuterElement step_of(const dispute::TraceHeader& header,
                              const dispute::OuterElement& before, const Bytes& posted,
                              const OuterFrame& frame);
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
