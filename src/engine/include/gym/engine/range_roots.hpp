#pragma once

#include <span>
#include <vector>

#include "gym/commit/tree_part.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/range_plan.hpp"
#include "gym/program/program.hpp"

// What an aggregate by ranges commits to: the roots of the whole, from the subtrees of its ranges.
namespace gym::engine {

/// What a range's results hash to: a few nodes a tensor, and a few for each run of chunks in the
/// blobs of the encoded states. A run's leaves are its tensors' leaves, one behind the other; its
/// nodes are other ones, because tensors do not begin where the blob's subtrees do.
struct RangeRoots {
    /// Of the tensors of base, momentum and residual, one for each part of the range
    /// (ParameterRanges::parts()). Without an update there are no residuals.
    std::vector<commit::TreePart> base, momentum, residual;
    commit::TreePart update;  ///< ParameterRanges::update_chunks(); empty without an update
    /// RangePlan::chunks(), in the trees of the blobs.
    commit::TreePart base_run, momentum_run, residual_run, update_run;

    friend bool operator==(const RangeRoots&, const RangeRoots&) = default;
};

/// The roots of an aggregate (docs/PROTOCOL.md, "Aggregation").
struct AggregateRoots {
    Digest base;           ///< of the next base state
    Digest momentum;       ///< of the next outer state
    Digest state;          ///< over the tensors of both, those of the base first
    Digest base_blob;      ///< of the encoded base state
    Digest momentum_blob;  ///< of the encoded outer state
};

/// The roots of the states of which all ranges' results are, and of their blobs, without their
/// bytes: whoever trusts the ranges' nodes can trust these. The same for every way to cut the
/// parameters.
/// @param train of which the plan is.
/// @param roots of each range, in order.
/// @errors kShapeMismatch, with the range's number: it is not of these parts; kMalformed: a part
/// has another number of nodes than its leaves have subtrees.
[[nodiscard]] Result<AggregateRoots> combine_ranges(const program::Program& train,
                                                    const RangePlan& plan,
                                                    std::span<const RangeRoots> roots);

}  // namespace gym::engine
