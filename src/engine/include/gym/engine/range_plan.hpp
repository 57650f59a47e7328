#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "gym/common/result.hpp"
#include "gym/engine/delta.hpp"
#include "gym/engine/parameter_ranges.hpp"
#include "gym/engine/state_index.hpp"
#include "gym/program/program.hpp"

namespace gym::engine {

/// Where a range's elements lie in the blobs of a program's encoded states: of each kind of tensor
/// one run of chunks, which begins and ends with whole chunks of each tensor.
struct RangeChunks {
    ChunkSpan base;      ///< of the base state
    ChunkSpan momentum;  ///< of the outer state, as the next two
    ChunkSpan residual;  ///< of no chunks without an update, as the next one
    ChunkSpan update;
};

/// A program's parameters in ranges, and what each range has of every blob that an aggregate reads
/// or makes. All of it follows from the program and the number of ranges. Immutable.
class RangePlan {
  public:
    /// @errors those of program::update_codec() and program::delta_codec(); kOutOfRange: the states
    /// are larger than any may be. @pre count > 0.
    [[nodiscard]] static Result<RangePlan> of(const program::Program& train, std::uint64_t count);

    [[nodiscard]] const ParameterRanges& cuts() const { return cuts_; }
    [[nodiscard]] std::size_t size() const { return cuts_.size(); }
    [[nodiscard]] const StateIndex& base() const { return base_; }
    [[nodiscard]] const StateIndex& outer() const { return outer_; }
    [[nodiscard]] bool has_update() const { return outer_.tensors() > parameters(); }
    [[nodiscard]] std::size_t parameters() const { return cuts_.elements().size(); }

    /// All zero for a range of no elements. @pre range < size(), as below.
    [[nodiscard]] RangeChunks chunks(std::size_t range) const;
    /// What the range reads of every delta's blob: whole chunks of 1,024 bytes, of which the blob's
    /// last may have fewer. Ranges of codec 1 have no byte in common, of codec 0 two neighbours may
    /// have a chunk. Nothing for a range of no elements.
    [[nodiscard]] DeltaSpan delta_bytes(std::size_t range) const;

  private:
    RangePlan(ParameterRanges cuts, StateIndex base, StateIndex outer, DeltaLayout delta)
        : cuts_(std::move(cuts)),
          base_(std::move(base)),
          outer_(std::move(outer)),
          delta_(std::move(delta)) {}

    ParameterRanges cuts_;
    StateIndex base_, outer_;
    DeltaLayout delta_;
};

}  // namespace gym::engine
