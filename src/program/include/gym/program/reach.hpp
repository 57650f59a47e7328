#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "gym/program/program.hpp"

namespace gym::program {

/// Consecutive elements of an operand.
struct ElementRange {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    friend bool operator==(const ElementRange&, const ElementRange&) = default;
};

/// Reads element `element` of an i32 slot: where gathers look is data.
using IndexReader = std::function<std::int32_t(SlotId slot, std::uint64_t element)>;

/// The elements of input number `operand` that element `out` of the primitive `op` depends on;
/// count 0 if none (another part of a concat).
[[nodiscard]] ElementRange depends_on(std::span<const Slot> slots, const Op& op,
                                      std::size_t operand, std::uint64_t out,
                                      const IndexReader& read_index);

/// The 1 KiB chunks in which `range` of a tensor of `element_bytes`-sized elements lies.
[[nodiscard]] std::uint64_t chunks_of(const ElementRange& range, std::size_t element_bytes);

}  // namespace gym::program
