#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gym/program/program.hpp"

// The outer step of an element needs no other element, so a round's parameters may be aggregated
// range by range, in any order and by anyone (docs/adr/0024-aggregation-by-ranges.md).
namespace gym::engine {

/// Neighbouring elements of one parameter.
struct ParameterPart {
    std::size_t parameter = 0;  ///< by its place among the program's parameters
    std::uint64_t first = 0;    ///< element
    std::uint64_t count = 0;    ///< of elements, at least one
};

/// Leaves of a chunk tree.
struct ChunkSpan {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

/// A program's parameters, one behind the other, cut into ranges. A cut lies where a chunk of 1,024
/// bytes begins both in the f32 tensor of its parameter and among the rows of a delta of codec 1
/// (codec::row_begin()), or before or behind all elements. So each range has whole chunks of each
/// tensor of base, momentum and residual, and of the update. Such places are 7,936 elements apart,
/// in parameters that have as many. Immutable.
class ParameterRanges {
  public:
    /// `count` ranges of about as many elements each. A program of small parameters has fewer
    /// places to cut, and some of its ranges are empty.
    /// @param elements of each parameter. @pre count > 0.
    ParameterRanges(std::vector<std::uint64_t> elements, std::uint64_t count);
    /// Of a train program's parameters.
    [[nodiscard]] static ParameterRanges of(const program::Program& train, std::uint64_t count);

    [[nodiscard]] std::size_t size() const { return cuts_.size() - 1; }
    /// The elements of each parameter.
    [[nodiscard]] std::span<const std::uint64_t> elements() const { return elements_; }
    /// Of a range, in order; none of an empty one. @pre range < size().
    [[nodiscard]] std::vector<ParameterPart> parts(std::size_t range) const;
    /// The range's chunks of the update. The first range's begin with the head.
    [[nodiscard]] ChunkSpan update_chunks(std::size_t range) const;

    /// The first row of a parameter, among all of a delta of codec 1.
    [[nodiscard]] std::uint64_t first_row(std::size_t parameter) const { return rows_[parameter]; }
    /// Chunks of the f32 tensor of a parameter.
    [[nodiscard]] std::uint64_t tensor_chunks(std::size_t parameter) const;
    /// Chunks of the whole update.
    [[nodiscard]] std::uint64_t update_chunks() const;

  private:
    struct Cut {
        std::size_t parameter = 0;
        std::uint64_t element = 0;
    };
    /// The first place for a cut at or behind element `first` of all.
    [[nodiscard]] Cut cut_behind(std::uint64_t first) const;
    [[nodiscard]] std::uint64_t chunk_of(const Cut& cut) const;

    std::vector<std::uint64_t> elements_;
    std::vector<std::uint64_t> begins_;  ///< of each parameter, its first element among all
    std::vector<std::uint64_t> rows_;    ///< and its first row; one more than parameters
    std::vector<Cut> cuts_;              ///< one more than ranges
};

/// The chunks of a part in the f32 tensor of its parameter. @pre The part is of a range.
[[nodiscard]] ChunkSpan chunks_of(const ParameterPart& part);

}  // namespace gym::engine
