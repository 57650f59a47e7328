#include "gym/engine/delta.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "delta_check.hpp"
#include "delta_norm.hpp"
#include "gym/blob/piece_list.hpp"
#include "gym/codec/row_layout.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/kernels/dense_rows.hpp"
#include "gym/kernels/float_environment.hpp"
#include "state_of_program.hpp"

namespace gym::engine {
namespace {

using codec::kRowElements;
using program::DeltaCodec;
using program::Program;

/// The f32 elements of a state's tensor, which may not be aligned.
void load(ByteView bytes, std::uint64_t first, std::span<float> out) {
    std::memcpy(out.data(), bytes.data() + first * sizeof(float), out.size_bytes());
}

float load(ByteView bytes, std::uint64_t i) {
    float value = 0;
    load(bytes, i, {&value, 1});
    return value;
}

void write_words(const StateTensor& end, const StateTensor& base, std::uint8_t* to) {
    for (std::size_t i = 0; i < base.bytes.size() / sizeof(float); ++i) {
        const float value = kernels::f32::sub(load(end.bytes, i), load(base.bytes, i));
        std::memcpy(to + i * sizeof value, &value, sizeof value);
    }
}

/// Rows `first`, first + 1, ... of the delta.
void write_rows(const StateTensor& end, const StateTensor& base, std::uint64_t first, Bytes& out) {
    const kernels::Isa isa = kernels::detect_isa();
    const std::uint64_t elements = base.bytes.size() / sizeof(float);
    float to[kRowElements], from[kRowElements];
    for (std::uint64_t i = 0; i < elements; i += kRowElements) {
        const std::uint64_t count = std::min(kRowElements, elements - i);
        load(end.bytes, i, {to, count});
        load(base.bytes, i, {from, count});
        kernels::encode_dense_row(isa, to, from, static_cast<std::int32_t>(count),
                                  out.data() + codec::row_begin(first + i / kRowElements));
    }
}

Bytes encode_words(const State& from, const State& to, std::uint64_t size) {
    Bytes out = delta_head(DeltaCodec::kFloat, from.tensors.size());
    out.resize(size);
    std::uint64_t begin = kDeltaHeadBytes;
    for (std::size_t i = 0; i < from.tensors.size(); ++i) {
        write_words(to.tensors[i], from.tensors[i], out.data() + begin);
        begin += from.tensors[i].bytes.size();
    }
    return out;
}

Bytes encode_rows(const State& from, const State& to, std::uint64_t size) {
    Bytes out = delta_head(DeltaCodec::kDense, from.tensors.size());
    out.resize(size);
    std::uint64_t row = 1;
    for (std::size_t i = 0; i < from.tensors.size(); ++i) {
        write_rows(to.tensors[i], from.tensors[i], row, out);
        row += codec::rows_of(from.tensors[i].bytes.size() / sizeof(float));
    }
    return out;
}

/// Calls take(DeltaBytes) with all bytes of a blob, in order, a piece of blob::kPieceBytes at a
/// time.
template <class Take>
Status each_piece(const blob::BlobReader& stored, const Take& take) {
    Bytes piece;
    for (std::uint64_t at = 0; at < stored.size(); at += piece.size()) {
        piece.resize(static_cast<std::size_t>(std::min(blob::kPieceBytes, stored.size() - at)));
        GYM_CHECK(stored.read(at, piece));
        take(DeltaBytes{at, piece});
    }
    return {};
}

Bytes::size_type head_size(std::uint64_t size_bytes) {
    return static_cast<std::size_t>(std::min(size_bytes, kDeltaHeadBytes));
}

}  // namespace

Result<std::uint64_t> delta_bytes(const Program& train) {
    GYM_TRY(const DeltaLayout layout, DeltaLayout::of(train));
    return layout.size_bytes();
}

Result<Bytes> encode_delta(const Program& train, const State& base, const State& end) {
    const kernels::ExactFloatEnvironment environment;
    GYM_TRY(const State from, base_of(train, base));
    GYM_TRY(const State to, base_of(train, end));
    GYM_TRY(const DeltaLayout layout, DeltaLayout::of(train));
    return layout.codec() == DeltaCodec::kDense ? encode_rows(from, to, layout.size_bytes())
                                                : encode_words(from, to, layout.size_bytes());
}

Result<Bytes> zero_delta(const Program& train) {
    GYM_TRY(const DeltaLayout layout, DeltaLayout::of(train));
    Bytes out = delta_head(layout.codec(), layout.parameters());
    out.resize(layout.size_bytes());
    return out;
}

Result<Delta> Delta::decode(const Program& train, const blob::VerifiedBlob& blob) {
    GYM_TRY(DeltaLayout layout, DeltaLayout::of(train));
    const ByteView bytes = blob.bytes();
    GYM_CHECK(check_delta_form(layout, bytes.first(head_size(bytes.size())), bytes.size()));
    GYM_CHECK(check_delta_bytes(train, layout, {0, bytes}));
    Delta delta(blob.root(), std::move(layout));
    delta.blob_ = blob;
    return delta;
}

Result<Delta> Delta::open(const Program& train, const Digest& root,
                          std::shared_ptr<const blob::BlobReader> stored) {
    const kernels::ExactFloatEnvironment environment;
    GYM_TRY(DeltaLayout layout, DeltaLayout::of(train));
    const std::uint64_t size = stored->size();
    Bytes head(head_size(size));
    GYM_CHECK(stored->read(0, head));
    // Bytes of another root are no malformed delta: whoever stored them is asked again.
    Status checked = check_delta_form(layout, head, size);
    blob::PieceListBuilder pieces(size);
    DeltaNorm norm;
    GYM_CHECK(each_piece(*stored, [&](const DeltaBytes& piece) {
        pieces.add(piece.bytes);
        if (checked.ok()) checked = check_delta_bytes(train, layout, piece);
        if (checked.ok()) norm.measure(layout, piece);
    }));
    const Digest actual = std::move(pieces).finish().root();
    if (actual != root)
        return fail(ErrorCode::kMismatch, "blob " + root.hex() + " is altered or cut: its " +
                                              std::to_string(size) + " bytes hash to " +
                                              actual.hex());
    GYM_CHECK(checked);
    if (DeltaNorm::needs_terms(layout.codec()))
        GYM_CHECK(
            each_piece(*stored, [&](const DeltaBytes& piece) { norm.add_terms(layout, piece); }));
    Delta delta(root, std::move(layout));
    delta.stored_ = std::move(stored);
    delta.stored_norm_bits_ = norm.bits(delta.codec());
    return delta;
}

Result<Delta> Delta::open_part(const Program& train, const blob::PieceList& pieces,
                               std::shared_ptr<const blob::BlobReader> stored,
                               const DeltaSpan& span) {
    GYM_TRY(DeltaLayout layout, DeltaLayout::of(train));
    if (pieces.size_bytes() != layout.size_bytes() || stored->size() != layout.size_bytes())
        return fail(ErrorCode::kMalformed, "a delta of " + std::to_string(pieces.size_bytes()) +
                                               " bytes, the program's have " +
                                               std::to_string(layout.size_bytes()));
    const std::uint64_t end = span.begin + span.size;
    GYM_ASSERT(span.begin % commit::kChunkBytes == 0 && end <= layout.size_bytes() &&
                   (end % commit::kChunkBytes == 0 || end == layout.size_bytes()),
               "whole chunks of the delta");
    Bytes piece;
    for (std::uint64_t i = span.begin / blob::kPieceBytes; span.size > 0 && pieces.offset(i) < end;
         ++i) {
        const std::uint64_t begin = pieces.offset(i);
        piece.resize(static_cast<std::size_t>(pieces.size_of(i)));
        GYM_CHECK(stored->read(begin, piece));
        if (!pieces.matches(i, piece))
            return fail(ErrorCode::kMismatch, "piece " + std::to_string(i) + " of delta " +
                                                  pieces.root().hex() + " is altered");
        if (begin == 0)
            GYM_CHECK(check_delta_form(layout, ByteView(piece).first(head_size(piece.size())),
                                       pieces.size_bytes()));
        const std::uint64_t from = std::max(begin, span.begin);
        const std::uint64_t to = std::min(begin + piece.size(), end);
        GYM_CHECK(check_delta_bytes(train, layout,
                                    {from, ByteView(piece).subspan(from - begin, to - from)}));
    }
    Delta delta(pieces.root(), std::move(layout));
    delta.stored_ = std::move(stored);
    return delta;
}

DeltaBytes Delta::bytes() const {
    GYM_ASSERT(stored_ == nullptr, "a delta in memory");
    return {0, blob_.bytes()};
}

std::uint32_t Delta::norm_bits() const {
    if (stored_) {
        GYM_ASSERT(stored_norm_bits_.has_value(), "a whole delta");
        return *stored_norm_bits_;
    }
    const kernels::ExactFloatEnvironment environment;
    DeltaNorm norm;
    norm.measure(*layout_, bytes());
    if (DeltaNorm::needs_terms(codec())) norm.add_terms(*layout_, bytes());
    return norm.bits(codec());
}

double Delta::norm() const {
    return static_cast<double>(std::bit_cast<float>(norm_bits()));
}

}  // namespace gym::engine
