#include "gym/engine/delta.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "dense_norm.hpp"
#include "gym/codec/row_layout.hpp"
#include "gym/commit/codec.hpp"
#include "gym/kernels/dense_rows.hpp"
#include "gym/kernels/float_environment.hpp"
#include "gym/kernels/rows.h"
#include "state_of_program.hpp"

namespace gym::engine {
namespace {

using codec::kRowElements;
using program::DeltaCodec;
using program::Program;
using program::SlotId;
using program::SlotKind;

constexpr std::string_view kDeltaMagic = "GYMDLTA1";
constexpr std::uint64_t kHeadBytes = 16;

std::uint64_t elements_of(const Program& train, SlotId id) {
    return program::element_count(train.slot(id).dims);
}

/// Head of every delta: magic, codec, number of tensors.
Bytes head_of(DeltaCodec codec, std::size_t tensors) {
    commit::Encoder head;
    head.raw(as_bytes(kDeltaMagic)).u32(static_cast<std::uint32_t>(codec));
    return head.u32(static_cast<std::uint32_t>(tensors)).take();
}

/// Head of every delta, when its codec is expected to be `codec`.
Status check_head(ByteView bytes, DeltaCodec codec, std::size_t parameters) {
    commit::Decoder decoder(bytes);
    GYM_TRY(const ByteView magic, decoder.raw(kDeltaMagic.size()));
    if (!std::ranges::equal(magic, as_bytes(kDeltaMagic)))
        return fail(ErrorCode::kMalformed, "these bytes are not a delta");
    GYM_TRY(const std::uint32_t number, decoder.u32());
    if (number != static_cast<std::uint32_t>(codec))
        return fail(ErrorCode::kMalformed, "a delta of codec " + std::to_string(number) +
                                               ", the program's have codec " +
                                               std::to_string(static_cast<unsigned>(codec)));
    GYM_TRY(const std::uint32_t count, decoder.u32());
    if (count == parameters) return {};
    return fail(ErrorCode::kShapeMismatch, "a delta of " + std::to_string(count) +
                                               " tensors, the program has " +
                                               std::to_string(parameters) + " parameters");
}

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
    Bytes out = head_of(DeltaCodec::kFloat, from.tensors.size());
    out.resize(size);
    std::uint64_t begin = kHeadBytes;
    for (std::size_t i = 0; i < from.tensors.size(); ++i) {
        write_words(to.tensors[i], from.tensors[i], out.data() + begin);
        begin += from.tensors[i].bytes.size();
    }
    return out;
}

Bytes encode_rows(const State& from, const State& to, std::uint64_t size) {
    Bytes out = head_of(DeltaCodec::kDense, from.tensors.size());
    out.resize(size);
    std::uint64_t row = 1;
    for (std::size_t i = 0; i < from.tensors.size(); ++i) {
        write_rows(to.tensors[i], from.tensors[i], row, out);
        row += codec::rows_of(from.tensors[i].bytes.size() / sizeof(float));
    }
    return out;
}

Error malformed(const Program& train, SlotId parameter, const std::string& what) {
    return fail(ErrorCode::kMalformed,
                "the delta of '" + train.slot(parameter).name + "' holds " + what);
}

/// Bytes that belong to no row: what is left of the head's, and the last of each full chunk.
bool has_only_zeros_beside_rows(ByteView bytes) {
    const auto is_zero = [](std::uint8_t byte) { return byte == 0; };
    if (!std::ranges::all_of(bytes.subspan(kHeadBytes, codec::kRowBytes - kHeadBytes), is_zero))
        return false;
    for (std::uint64_t i = codec::kChunkOfRowsBytes - 1; i < bytes.size();
         i += codec::kChunkOfRowsBytes)
        if (bytes[i] != 0) return false;
    return true;
}

}  // namespace

Result<std::uint64_t> delta_bytes(const Program& train) {
    GYM_TRY(const DeltaCodec codec, program::delta_codec(train));
    std::uint64_t rows = 1, words = 0;
    for (const SlotId id : train.slots_of(SlotKind::kParam)) {
        rows += codec::rows_of(elements_of(train, id));
        words += elements_of(train, id);
    }
    return codec == DeltaCodec::kDense ? codec::row_begin(rows)
                                       : kHeadBytes + words * sizeof(float);
}

Result<Bytes> encode_delta(const Program& train, const State& base, const State& end) {
    const kernels::ExactFloatEnvironment environment;
    GYM_TRY(const State from, base_of(train, base));
    GYM_TRY(const State to, base_of(train, end));
    GYM_TRY(const DeltaCodec codec, program::delta_codec(train));
    GYM_TRY(const std::uint64_t size, delta_bytes(train));
    return codec == DeltaCodec::kDense ? encode_rows(from, to, size) : encode_words(from, to, size);
}

Result<Delta> Delta::decode(const Program& train, const blob::VerifiedBlob& blob) {
    GYM_TRY(const DeltaCodec codec, program::delta_codec(train));
    const auto params = train.slots_of(SlotKind::kParam);
    GYM_CHECK(check_head(blob.bytes(), codec, params.size()));
    GYM_TRY(const std::uint64_t size, delta_bytes(train));
    if (blob.bytes().size() != size)
        return fail(ErrorCode::kMalformed, "a delta of " + std::to_string(blob.bytes().size()) +
                                               " bytes, the program's have " +
                                               std::to_string(size));
    const bool dense = codec == DeltaCodec::kDense;
    std::vector<Tensor> tensors;
    std::uint64_t begin = dense ? 1 : kHeadBytes;
    for (const SlotId id : params) {
        const std::uint64_t elements = elements_of(train, id);
        tensors.push_back({begin, elements});
        begin += dense ? codec::rows_of(elements) : elements * sizeof(float);
    }
    Delta delta(blob, codec, std::move(tensors));
    GYM_CHECK(dense ? delta.check_rows(train) : delta.check_words(train));
    return delta;
}

Status Delta::check_words(const Program& train) const {
    const auto params = train.slots_of(SlotKind::kParam);
    for (std::size_t k = 0; k < params.size(); ++k) {
        const ByteView words = blob_.bytes().subspan(tensors_[k].begin);
        for (std::uint64_t i = 0; i < tensors_[k].elements; ++i) {
            const float value = load(words, i);
            if (value != value && kernels::f32::to_bits(value) != kernels::f32::kNanBits)
                return malformed(train, params[k], "a NaN that no op produces");
        }
    }
    return {};
}

Status Delta::check_rows(const Program& train) const {
    if (!has_only_zeros_beside_rows(blob_.bytes()))
        return fail(ErrorCode::kMalformed, "a byte between the delta's rows is not 0");
    const kernels::Isa isa = kernels::detect_isa();
    const auto params = train.slots_of(SlotKind::kParam);
    for (std::size_t k = 0; k < params.size(); ++k) {
        for (std::uint64_t i = 0; i < tensors_[k].elements; i += kRowElements) {
            const std::uint64_t row = tensors_[k].begin + i / kRowElements;
            const auto count =
                static_cast<std::int32_t>(std::min(kRowElements, tensors_[k].elements - i));
            if (!kernels::is_dense_row(isa, blob_.bytes().data() + codec::row_begin(row), count))
                return malformed(train, params[k],
                                 "a row that no encoder writes, at byte " +
                                     std::to_string(codec::row_begin(row)));
        }
    }
    return {};
}

std::uint64_t Delta::elements(std::size_t parameter) const {
    return tensors_.at(parameter).elements;
}

void Delta::read(std::size_t parameter, std::uint64_t first, std::span<float> out) const {
    const Tensor& tensor = tensors_.at(parameter);
    GYM_ASSERT(first <= tensor.elements && out.size() <= tensor.elements - first,
               "elements of the parameter");
    if (codec_ == DeltaCodec::kDense) return read_rows(tensor, first, out);
    load(blob_.bytes().subspan(tensor.begin), first, out);
}

const std::uint8_t* Delta::dense_row(std::size_t parameter, std::uint64_t row) const {
    const Tensor& tensor = tensors_.at(parameter);
    GYM_ASSERT(codec_ == DeltaCodec::kDense && row < codec::rows_of(tensor.elements),
               "a row of the parameter");
    return blob_.bytes().data() + codec::row_begin(tensor.begin + row);
}

void Delta::read_rows(const Tensor& tensor, std::uint64_t first, std::span<float> out) const {
    const kernels::Isa isa = kernels::detect_isa();
    float row[kRowElements];
    for (std::uint64_t done = 0; done < out.size();) {
        const std::uint64_t at = first + done, skip = at % kRowElements;
        const std::uint64_t here = std::min<std::uint64_t>(kRowElements - skip, out.size() - done);
        const std::uint8_t* bytes =
            blob_.bytes().data() + codec::row_begin(tensor.begin + at / kRowElements);
        if (skip == 0) {
            kernels::decode_dense_row(isa, bytes, static_cast<std::int32_t>(here),
                                      out.data() + done);
        } else {
            kernels::decode_dense_row(isa, bytes, static_cast<std::int32_t>(skip + here), row);
            std::copy_n(row + skip, here, out.data() + done);
        }
        done += here;
    }
}

std::uint32_t Delta::norm_bits() const {
    const kernels::ExactFloatEnvironment environment;
    if (codec_ == DeltaCodec::kDense)
        if (const auto bits = dense_norm_bits(*this)) return *bits;
    std::vector<float> squares;
    for (std::size_t parameter = 0; parameter < parameters(); ++parameter) {
        const std::size_t begin = squares.size();
        squares.resize(begin + elements(parameter));
        const std::span<float> values(squares.data() + begin, elements(parameter));
        read(parameter, 0, values);
        for (float& value : values)
            value = kernels::f32::mul(value, value);
    }
    const auto count = static_cast<std::int64_t>(squares.size());
    return kernels::f32::to_bits(kernels::f32::sqrt(kernels::exact_sum(squares.data(), count)));
}

double Delta::norm() const {
    return static_cast<double>(std::bit_cast<float>(norm_bits()));
}

}  // namespace gym::engine
