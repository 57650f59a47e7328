#pragma once

#include <cstdint>
#include <optional>

#include "gym/kernels/dense_row.h"

// Where the rows of a delta of codec 1 lie (docs/PROTOCOL.md, "States, deltas, datasets"): 31 in a
// chunk of 1,024 bytes, whose last byte is 0, so that no row lies in two chunks. Row 0 is the head.
namespace gym::codec {

inline constexpr std::uint64_t kRowsOfChunk = 31;
inline constexpr std::uint64_t kChunkOfRowsBytes = 1024;
inline constexpr auto kRowElements = static_cast<std::uint64_t>(kernels::kRowElements);
inline constexpr auto kRowBytes = static_cast<std::uint64_t>(kernels::kRowBytes);
static_assert(kRowsOfChunk * kRowBytes + 1 == kChunkOfRowsBytes);

/// The first byte of a row; of the number of all rows: the delta's bytes.
[[nodiscard]] constexpr std::uint64_t row_begin(std::uint64_t row) {
    return row / kRowsOfChunk * kChunkOfRowsBytes + row % kRowsOfChunk * kRowBytes;
}

/// Rows of a parameter.
[[nodiscard]] constexpr std::uint64_t rows_of(std::uint64_t elements) {
    return (elements + kRowElements - 1) / kRowElements;
}

struct RowByte {
    std::uint64_t row = 0;
    std::uint64_t place = 0;  ///< within the row: 0 is the scale
    friend bool operator==(const RowByte&, const RowByte&) = default;
};
/// The row that a byte belongs to; none for the last byte of a chunk.
[[nodiscard]] constexpr std::optional<RowByte> row_of(std::uint64_t byte) {
    const std::uint64_t within = byte % kChunkOfRowsBytes;
    if (within == kChunkOfRowsBytes - 1) return std::nullopt;
    return RowByte{byte / kChunkOfRowsBytes * kRowsOfChunk + within / kRowBytes,
                   within % kRowBytes};
}

/// Where elements begin: a byte that is the first of a row, but not of the head's.
[[nodiscard]] constexpr bool begins_row(std::uint64_t byte) {
    const auto at = row_of(byte);
    return at && at->row > 0 && at->place == 0;
}

}  // namespace gym::codec
