#include "gym/dispute/delta_layout.hpp"

#include "gym/codec/row_layout.hpp"
#include "gym/common/assert.hpp"

namespace gym::dispute {

using program::DeltaCodec;

bool is_delta_place(DeltaCodec codec, std::uint64_t offset) {
    if (codec == DeltaCodec::kDense) return codec::begins_row(offset);
    return offset >= kDeltaHeadBytes && offset % sizeof(float) == 0;
}

std::uint64_t delta_end(DeltaCodec codec, const StateRecord& record) {
    if (codec == DeltaCodec::kFloat) return record.delta_offset + size_bytes(record.shape);
    return codec::row_begin(codec::row_of(record.delta_offset)->row +
                            codec::rows_of(element_count(record.shape)));
}

DeltaSpan delta_span(DeltaCodec codec, const StateRecord& record, std::uint64_t element) {
    if (codec == DeltaCodec::kFloat)
        return {record.delta_offset + element * sizeof(float), sizeof(float)};
    const std::uint64_t first = codec::row_of(record.delta_offset)->row;
    return {codec::row_begin(first + element / codec::kRowElements), codec::kRowBytes};
}

std::uint64_t first_element(DeltaCodec codec, const StateRecord& record, std::uint64_t byte) {
    if (codec == DeltaCodec::kFloat) return (byte - record.delta_offset) / sizeof(float);
    return (codec::row_of(byte)->row - codec::row_of(record.delta_offset)->row) *
           codec::kRowElements;
}

std::uint32_t delta_element(DeltaCodec codec, std::uint64_t element, ByteView bytes) {
    if (codec == DeltaCodec::kDense) {
        GYM_ASSERT(bytes.size() == codec::kRowBytes, "a row");
        const auto place = static_cast<std::int32_t>(element % codec::kRowElements);
        const std::int32_t level = kernels::row_level_at(bytes.data(), place);
        return kernels::f32::to_bits(kernels::row_value(level, bytes[0]));
    }
    GYM_ASSERT(bytes.size() == sizeof(float), "a word");
    std::uint32_t bits = 0;
    for (std::size_t i = sizeof bits; i-- > 0;)
        bits = bits << 8 | bytes[i];
    return bits;
}

}  // namespace gym::dispute
