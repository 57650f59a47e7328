#include "gym/game/column_parts.hpp"

#include <algorithm>

#include "gym/commit/codec.hpp"
#include "gym/kernels/f32.h"
#include "rules_common.hpp"

namespace gym::game {
namespace {

/// Makes every exponent a byte.
constexpr std::int32_t kExponentBias = 100;
/// Where a node has its bytes: the exponents, then the sum.
constexpr std::size_t kOwnAt = 22, kAllAt = 23, kSumAt = 24;

std::uint64_t big_endian(ByteView bytes) {
    std::uint64_t number = 0;
    for (const std::uint8_t byte : bytes)
        number = number << 8U | byte;
    return number;
}

std::uint8_t biased(std::int32_t exponent) {
    return static_cast<std::uint8_t>(exponent + kExponentBias);
}

}  // namespace

Bytes encode_parts(std::span<const dispute::ColumnPart> parts) {
    commit::Encoder out;
    for (const dispute::ColumnPart& part : parts) {
        out.u8(biased(part.exponent));
        out.u64(static_cast<std::uint64_t>(part.sum));
    }
    return out.take();
}

std::vector<dispute::ColumnPart> decode_parts(ByteView added) {
    std::vector<dispute::ColumnPart> parts;
    for (std::size_t at = 0; at + kPartBytes <= added.size(); at += kPartBytes)
        parts.push_back({added[at] - kExponentBias, static_cast<std::int64_t>(big_endian(
                                                        added.subspan(at + 1, kPartBytes - 1)))});
    return parts;
}

std::uint64_t column_bytes(const Cursor& c) {
    if (c.stage == Stage::kColumn) {
        const std::uint64_t parts = dispute::column_parts(c.leaves);
        return parts == 0 ? rules::kWordBytes * c.leaves : kPartBytes * parts;
    }
    const std::uint64_t first = first_of_column(c);
    if (c.stage != Stage::kPart || first >= c.leaves) return 0;
    return rules::kWordBytes * std::min<std::uint64_t>(c.leaves - first, dispute::kColumnPart);
}

std::uint32_t first_of_column(const Cursor& c) {
    return c.stage == Stage::kPart ? dispute::kColumnPart * c.height : 0;
}

Digest part_node(const dispute::ColumnPart& part, std::int32_t exponent) {
    Digest node = rules::word_of(static_cast<std::uint64_t>(part.sum));
    node.data[kOwnAt] = biased(part.exponent);
    node.data[kAllAt] = biased(exponent);
    return node;
}

Digest part_node_of(std::span<const float> values, const Cursor& c,
                    const dispute::DeltaCount& count) {
    const std::uint32_t first = first_of_column(c);
    const std::int32_t all = c.node.data[kAllAt] - kExponentBias;
    dispute::ColumnPart part;
    part.exponent = dispute::part_exponent(values, first, count);
    part.sum = static_cast<std::int64_t>(big_endian(c.node.view().subspan(kSumAt)));
    if (biased(part.exponent) == c.node.data[kOwnAt] && part.exponent <= all)
        part.sum = dispute::part_sum(values, first, count, all);
    return part_node(part, all);
}

std::vector<float> floats_of(ByteView values) {
    std::vector<float> out;
    for (std::size_t at = 0; at + rules::kWordBytes <= values.size(); at += rules::kWordBytes)
        out.push_back(kernels::f32::from_bits(static_cast<std::uint32_t>(
            rules::little_endian(values.subspan(at, rules::kWordBytes)))));
    return out;
}

}  // namespace gym::game
