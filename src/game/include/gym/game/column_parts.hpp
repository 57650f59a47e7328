#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/dispute/outer_step.hpp"
#include "gym/game/state.hpp"

/// Columns of more than dispute::kColumnPart deltas, whose parts are posted before their values:
/// library ColumnParts of contracts/src/dispute.
namespace gym::game {

/// Of each part: its exponent plus 100, a byte; its sum, i64 big-endian.
inline constexpr std::size_t kPartBytes = 9;

[[nodiscard]] Bytes encode_parts(std::span<const dispute::ColumnPart> parts);
/// Whatever the bytes say. @pre a multiple of kPartBytes.
[[nodiscard]] std::vector<dispute::ColumnPart> decode_parts(ByteView added);
/// Bytes of an answer at a column or at a part; 0 at no such cursor.
[[nodiscard]] std::uint64_t column_bytes(const Cursor& c);
/// Number, among all deltas, of the first value that an answer at the cursor has.
[[nodiscard]] std::uint32_t first_of_column(const Cursor& c);
/// The node of a part: its own exponent, that of all parts, its sum.
[[nodiscard]] Digest part_node(const dispute::ColumnPart& part, std::int32_t exponent);
/// What a part adds by its values, where its node says `claimed`. A sum is looked at only where the
/// part's own exponent is right, hence not above that of all parts: only then no value is too large
/// for it.
/// @pre exact floating point.
[[nodiscard]] Digest part_node_of(std::span<const float> values, const Cursor& c,
                                  const dispute::DeltaCount& count);
/// f32 each, little-endian.
[[nodiscard]] std::vector<float> floats_of(ByteView values);

}  // namespace gym::game
