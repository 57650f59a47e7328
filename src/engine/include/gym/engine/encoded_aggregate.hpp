#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/delta.hpp"
#include "gym/engine/range_plan.hpp"
#include "gym/engine/range_roots.hpp"
#include "gym/engine/record.hpp"
#include "gym/engine/unit.hpp"
#include "gym/program/delta_groups.hpp"
#include "gym/program/program.hpp"

// The outer step on encoded states, in their own bytes: of a whole aggregate, or of one range of it
// by whoever has the range's bytes alone (docs/adr/0037-ranges-of-encoded-states.md). The bits and
// roots are those of run_aggregate(), whatever the number of ranges.
namespace gym::engine {

/// The bytes of a range: RangePlan::chunks() of the encoded base and outer state.
struct RangeBytes {
    Bytes base, momentum, residual;
    Bytes update;  ///< only made: what an update says depends on nothing in the last one
};

/// What a range's step reads beside the range's bytes; borrowed.
struct RangeInputs {
    const program::Program& train;
    const RangePlan& plan;  ///< of `train`
    /// In the order of a record's list. Of a stored one the bytes of RangePlan::delta_bytes() are
    /// enough (Delta::open_part()).
    std::span<const Delta> deltas;
    program::DeltaGroups groups;
};

/// The outer step over one range: a pure function of the inputs, the number of the range and its
/// bytes, which become those after the step.
/// @return what they hash to: with those of all other ranges, combine_ranges() has the aggregate's
/// roots.
/// @errors kInvalidArgument: no such range, not a train program, no or too many deltas, or groups
/// that they cannot have; kShapeMismatch: bytes that are not the range's, or a delta of other
/// parameters; kMalformed: a byte behind a tensor is not 0; those of the deltas' readers.
[[nodiscard]] Result<RangeRoots> run_range(const RangeInputs& inputs, std::size_t range,
                                           RangeBytes& bytes, const EngineOptions& options = {});

/// As AggregateResult, with encoded states.
struct EncodedAggregate {
    program::Program program;
    Bytes base, momentum;
    DeltaSpan update;  ///< where it lies in `momentum`; of no bytes without one
    AggregateRoots roots;
    std::vector<StepRecord> records;
    Digest records_root;
    std::uint64_t flops = 0;
};

/// run_aggregate() in the bytes of the encoded states: no second copy of a state is made.
/// @param base, momentum moved; of an empty `momentum` all elements are 0.
/// @errors as run_aggregate(); kMalformed: bytes that are not a state; kNotFound, kMalformed,
/// kShapeMismatch: a state of other tensors (check_layout()).
[[nodiscard]] Result<EncodedAggregate> run_encoded_aggregate(
    const program::Program& train, Bytes base, Bytes momentum, std::span<const Delta> deltas,
    const program::DeltaGroups& groups = {}, const EngineOptions& options = {},
    RangeCount ranges = RangeCount::kAny);

}  // namespace gym::engine
