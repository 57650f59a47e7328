#pragma once

#include <cstdint>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/delta.hpp"

namespace gym::engine {

/// Bytes that are read of a stored delta at a time, from a multiple of them on: as many as a sealed
/// store authenticates together.
inline constexpr std::uint64_t kDeltaReadBytes = std::uint64_t{1} << 16;

/// Some elements of a delta, in memory: of a stored one those that show() asked for last and at
/// most 2 * kDeltaReadBytes beyond; of one in memory all. For readers that go forward: no byte is
/// read twice then. Not thread-safe.
class DeltaWindow {
  public:
    /// @param delta must outlive the window.
    explicit DeltaWindow(const Delta& delta);
    /// @errors those of the delta's reader.
    Status show(const ParameterPart& part);
    /// Valid until the next show().
    [[nodiscard]] const DeltaBytes& bytes() const { return bytes_; }

  private:
    const Delta* delta_;
    Bytes buffer_;
    DeltaBytes bytes_;
};

/// The elements of a part, from its first one on, that a window shows with the fewest bytes: at
/// least a row, unless the part has less. All of the part where the delta is in memory.
[[nodiscard]] std::uint64_t shown_together(const Delta& delta, const ParameterPart& part);

}  // namespace gym::engine
