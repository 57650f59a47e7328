#include "delta_check.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "gym/codec/row_layout.hpp"
#include "gym/commit/codec.hpp"
#include "gym/kernels/dense_rows.hpp"
#include "gym/kernels/f32.h"

namespace gym::engine {
namespace {

using program::DeltaCodec;
using program::Program;

Error malformed(const Program& train, std::size_t parameter, const std::string& what) {
    const program::SlotId slot = train.slots_of(program::SlotKind::kParam)[parameter];
    return fail(ErrorCode::kMalformed,
                "the delta of '" + train.slot(slot).name + "' holds " + what);
}

Status check_words(const Program& train, const DeltaLayout& layout, const DeltaBytes& piece,
                   const ParameterPart& part) {
    const DeltaSpan span = layout.span_of(part);
    const std::uint8_t* const words = piece.bytes.data() + (span.begin - piece.begin);
    for (std::uint64_t i = 0; i < part.count; ++i) {
        float value = 0;
        std::memcpy(&value, words + i * sizeof value, sizeof value);
        if (value != value && kernels::f32::to_bits(value) != kernels::f32::kNanBits)
            return malformed(train, part.parameter, "a NaN that no op produces");
    }
    return {};
}

Status check_rows(const Program& train, const DeltaLayout& layout, const DeltaBytes& piece,
                  const ParameterPart& part) {
    const kernels::Isa isa = kernels::detect_isa();
    for (std::uint64_t i = 0; i < part.count; i += codec::kRowElements) {
        const std::uint8_t* const row =
            layout.dense_row(piece, part.parameter, (part.first + i) / codec::kRowElements);
        const auto count = static_cast<std::int32_t>(std::min(codec::kRowElements, part.count - i));
        if (!kernels::is_dense_row(isa, row, count))
            return malformed(train, part.parameter,
                             "a row that no encoder writes, at byte " +
                                 std::to_string(piece.begin + static_cast<std::uint64_t>(
                                                                  row - piece.bytes.data())));
    }
    return {};
}

/// Bytes that belong to no row: what is left of the head's, and the last of each full chunk.
bool has_only_zeros_beside_rows(const DeltaBytes& piece) {
    const auto is_zero = [](std::uint8_t byte) { return byte == 0; };
    const ByteView bytes = piece.bytes;
    constexpr std::uint64_t kRest = codec::kRowBytes - kDeltaHeadBytes;
    if (piece.begin == 0 && !std::ranges::all_of(bytes.subspan(kDeltaHeadBytes, kRest), is_zero))
        return false;
    for (std::uint64_t i = codec::kChunkOfRowsBytes - 1; i < bytes.size();
         i += codec::kChunkOfRowsBytes)
        if (bytes[i] != 0) return false;
    return true;
}

}  // namespace

Bytes delta_head(DeltaCodec codec, std::size_t tensors) {
    commit::Encoder head;
    head.raw(as_bytes(kDeltaMagic)).u32(static_cast<std::uint32_t>(codec));
    return head.u32(static_cast<std::uint32_t>(tensors)).take();
}

Status check_delta_form(const DeltaLayout& layout, ByteView head, std::uint64_t size_bytes) {
    commit::Decoder decoder(head);
    GYM_TRY(const ByteView magic, decoder.raw(kDeltaMagic.size()));
    if (!std::ranges::equal(magic, as_bytes(kDeltaMagic)))
        return fail(ErrorCode::kMalformed, "these bytes are not a delta");
    GYM_TRY(const std::uint32_t number, decoder.u32());
    const auto codec = static_cast<std::uint32_t>(layout.codec());
    if (number != codec)
        return fail(ErrorCode::kMalformed, "a delta of codec " + std::to_string(number) +
                                               ", the program's have codec " +
                                               std::to_string(codec));
    GYM_TRY(const std::uint32_t count, decoder.u32());
    if (count != layout.parameters())
        return fail(ErrorCode::kShapeMismatch,
                    "a delta of " + std::to_string(count) + " tensors, the program has " +
                        std::to_string(layout.parameters()) + " parameters");
    if (size_bytes == layout.size_bytes()) return {};
    return fail(ErrorCode::kMalformed, "a delta of " + std::to_string(size_bytes) +
                                           " bytes, the program's have " +
                                           std::to_string(layout.size_bytes()));
}

Status check_delta_bytes(const Program& train, const DeltaLayout& layout, const DeltaBytes& piece) {
    const bool dense = layout.codec() == DeltaCodec::kDense;
    if (dense && !has_only_zeros_beside_rows(piece))
        return fail(ErrorCode::kMalformed, "a byte between the delta's rows is not 0");
    for (const ParameterPart& part : layout.parts_in({piece.begin, piece.bytes.size()}))
        GYM_CHECK(dense ? check_rows(train, layout, piece, part)
                        : check_words(train, layout, piece, part));
    return {};
}

}  // namespace gym::engine
