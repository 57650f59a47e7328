#pragma once

#include <span>
#include <vector>

#include "gym/commit/tree_part.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/parameter_ranges.hpp"
#include "gym/program/program.hpp"

// What an aggregate by ranges commits to: the roots of the whole, from the subtrees of its ranges.
namespace gym::engine {

/// What a range's results hash to: a few nodes a tensor.
struct RangeRoots {
    /// Of the tensors of base, momentum and residual, one for each part of the range
    /// (ParameterRanges::parts()). Without an update there are no residuals.
    std::vector<commit::TreePart> base, momentum, residual;
    commit::TreePart update;  ///< ParameterRanges::update_chunks(); empty without an update

    friend bool operator==(const RangeRoots&, const RangeRoots&) = default;
};

/// The roots of an aggregate (docs/PROTOCOL.md, "Aggregation").
struct AggregateRoots {
    Digest base;      ///< of the next base state
    Digest momentum;  ///< of the next outer state
    Digest state;     ///< over the tensors of both, those of the base first
};

/// The roots of the states of which all ranges' results are, without their bytes: whoever trusts
/// the ranges' nodes can trust these. The same for every way to cut the parameters.
/// @param train whose parameters, and whether it has an update, decide the tensors.
/// @param roots of each range, in order.
/// @errors those of program::update_codec(); kShapeMismatch, with the range's number: it is not of
/// these parts; kMalformed: a part has another number of nodes than its leaves have subtrees.
[[nodiscard]] Result<AggregateRoots> combine_ranges(const program::Program& train,
                                                    const ParameterRanges& ranges,
                                                    std::span<const RangeRoots> roots);

}  // namespace gym::engine
