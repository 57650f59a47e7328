#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "delta_window.hpp"
#include "gym/codec/row_layout.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/delta.hpp"
#include "gym/engine/range_plan.hpp"
#include "gym/engine/range_roots.hpp"
#include "gym/kernels/dispatch.hpp"
#include "gym/kernels/vector_ops.hpp"
#include "gym/program/delta_groups.hpp"
#include "gym/program/program.hpp"

namespace gym::engine {

/// Elements of all deltas that are summed together: few enough to stay in a cache, and whole rows.
inline constexpr std::uint64_t kOuterTile = 512;
static_assert(kOuterTile % codec::kRowElements == 0);

/// What a thread needs of all deltas.
struct OuterDesk {
    explicit OuterDesk(std::span<const Delta> deltas)
        : windows(deltas.begin(), deltas.end()),
          block(deltas.size()),
          codes(deltas.size()),
          rows(deltas.size() * kOuterTile) {}
    std::vector<DeltaWindow> windows;
    std::vector<const std::uint8_t*> block;  ///< the first row of codec 1 that each window shows
    std::vector<const std::uint8_t*> codes;  ///< of each delta a row of codec 1
    std::vector<float> rows;                 ///< of each delta kOuterTile elements
    std::array<float, kOuterTile> sums{}, base{}, momentum{}, residual{};
};

/// What the step changes of some elements. Without an update, residual and update are empty.
struct PartBytes {
    std::span<std::uint8_t> base, momentum, residual;  ///< f32, of these elements alone
    std::span<std::uint8_t> update;  ///< from a chunk of the update on, as far as the rows go
    std::uint64_t row = 0;           ///< the elements' first row, counted from that chunk's first
};

/// The aggregate program's ops (program::aggregate_program()) on some elements at a time: with
/// hundreds of deltas their elements would take many times the model's memory. Immutable.
class OuterStep {
  public:
    /// @param deltas must outlive the step.
    /// @errors kInvalidArgument: not a train program, no deltas or too many, groups that they
    /// cannot have; kShapeMismatch: a delta of other parameters.
    [[nodiscard]] static Result<OuterStep> of(kernels::Isa isa, const program::Program& train,
                                              std::span<const Delta> deltas,
                                              const program::DeltaGroups& groups);

    /// Makes the elements of a part, and what the outer state has of them, those after the step.
    /// @pre The part begins with a row. @errors of the stores that deltas are in.
    Status run(const ParameterPart& part, const PartBytes& bytes, OuterDesk& desk) const;

  private:
    OuterStep(kernels::Isa isa, std::span<const Delta> deltas, const program::DeltaGroups& groups,
              const kernels::OuterRates& rates);
    Status show(const ParameterPart& block, OuterDesk& desk) const;
    void sum(const ParameterPart& block, std::uint64_t skip, std::uint64_t count,
             OuterDesk& desk) const;
    bool sum_codes(const ParameterPart& block, std::uint64_t skip, std::uint64_t count,
                   OuterDesk& desk) const;
    void sum_elements(const ParameterPart& block, std::uint64_t skip, std::uint64_t count,
                      OuterDesk& desk) const;
    void step(std::uint64_t first, std::uint64_t count, OuterDesk& desk,
              const PartBytes& bytes) const;
    void step_of(std::array<float, kOuterTile>& target, std::uint64_t count, OuterDesk& desk) const;

    kernels::Isa isa_;
    std::span<const Delta> deltas_;
    std::vector<float> factors_;  ///< of each delta; empty: all count once
    std::ptrdiff_t doubled_ = 0;  ///< of them, the first ones, count twice
    bool is_withdrawing_ = false, is_dense_ = false;
    kernels::OuterRates rates_{};
};

/// So many threads that the windows of their desks on stored deltas take no more than 1 GiB
/// together: at least one.
[[nodiscard]] unsigned outer_threads(std::span<const Delta> deltas, unsigned threads);

/// Encoded states, or runs of their chunks, in memory.
struct EncodedBytes {
    std::span<std::uint8_t> bytes;
    std::uint64_t begin = 0;  ///< of the whole state, a multiple of commit::kChunkBytes

    /// @pre These bytes of the state are here.
    [[nodiscard]] std::span<std::uint8_t> at(std::uint64_t offset, std::uint64_t size) const {
        return bytes.subspan(offset - begin, size);
    }
};

/// Where a range's step works: in whole states or in its runs.
struct RangeBuffers {
    EncodedBytes base, momentum, residual, update;
};

/// The bytes of a part of a range. @pre RangePlan::chunks() of its range are in the buffers.
[[nodiscard]] PartBytes bytes_of(const RangePlan& plan, const RangeBuffers& buffers,
                                 const ParameterPart& part);

/// What the bytes of a range hash to.
/// @param parts bytes_of() each of its parts. @param update the range's chunks of the update.
[[nodiscard]] RangeRoots roots_of(const RangePlan& plan, std::size_t range,
                                  std::span<const PartBytes> parts, ByteView update,
                                  unsigned threads);

}  // namespace gym::engine
