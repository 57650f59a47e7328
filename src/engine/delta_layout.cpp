#include <algorithm>
#include <cstring>

#include "delta_check.hpp"
#include "gym/codec/row_layout.hpp"
#include "gym/common/assert.hpp"
#include "gym/engine/delta.hpp"
#include "gym/kernels/dense_rows.hpp"

namespace gym::engine {
namespace {

using codec::kRowElements;
using program::DeltaCodec;

/// Rows, of all of a delta, that end at or before a byte.
std::uint64_t rows_before(std::uint64_t byte) {
    return byte / codec::kChunkOfRowsBytes * codec::kRowsOfChunk +
           byte % codec::kChunkOfRowsBytes / codec::kRowBytes;
}

}  // namespace

Result<DeltaLayout> DeltaLayout::of(const program::Program& train) {
    GYM_TRY(const DeltaCodec codec, program::delta_codec(train));
    const bool dense = codec == DeltaCodec::kDense;
    std::vector<Tensor> tensors;
    std::uint64_t begin = dense ? 1 : kDeltaHeadBytes;
    for (const program::SlotId id : train.slots_of(program::SlotKind::kParam)) {
        const std::uint64_t elements = program::element_count(train.slot(id).dims);
        tensors.push_back({begin, elements});
        begin += dense ? codec::rows_of(elements) : elements * sizeof(float);
    }
    return DeltaLayout(codec, std::move(tensors), dense ? codec::row_begin(begin) : begin);
}

std::uint64_t DeltaLayout::elements(std::size_t parameter) const {
    return tensors_.at(parameter).elements;
}

DeltaSpan DeltaLayout::span_of(const ParameterPart& part) const {
    const Tensor& tensor = tensors_.at(part.parameter);
    GYM_ASSERT(part.count > 0 && part.first <= tensor.elements &&
                   part.count <= tensor.elements - part.first,
               "elements of the parameter");
    if (codec_ == DeltaCodec::kFloat)
        return {tensor.begin + part.first * sizeof(float), part.count * sizeof(float)};
    GYM_ASSERT(part.first % kRowElements == 0, "whole rows");
    const std::uint64_t first = tensor.begin + part.first / kRowElements;
    const std::uint64_t last = first + codec::rows_of(part.count) - 1;
    const std::uint64_t begin = codec::row_begin(first);
    return {begin, codec::row_begin(last) + codec::kRowBytes - begin};
}

std::vector<ParameterPart> DeltaLayout::parts_in(const DeltaSpan& span) const {
    const bool dense = codec_ == DeltaCodec::kDense;
    // In rows or in bytes, as tensors begin.
    const std::uint64_t first = dense ? rows_before(span.begin) : span.begin;
    const std::uint64_t end = dense ? rows_before(span.begin + span.size) : span.begin + span.size;
    std::vector<ParameterPart> out;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
        const Tensor& tensor = tensors_[i];
        const std::uint64_t size =
            dense ? codec::rows_of(tensor.elements) : tensor.elements * sizeof(float);
        const std::uint64_t from = std::max(first, tensor.begin);
        const std::uint64_t to = std::min(end, tensor.begin + size);
        if (from >= to) continue;
        const auto element = [&](std::uint64_t at) {
            const std::uint64_t within = at - tensor.begin;
            return dense ? std::min(within * kRowElements, tensor.elements)
                         : within / sizeof(float);
        };
        out.push_back({i, element(from), element(to) - element(from)});
    }
    return out;
}

void DeltaLayout::read(const DeltaBytes& from, std::size_t parameter, std::uint64_t first,
                       std::span<float> out) const {
    const Tensor& tensor = tensors_.at(parameter);
    GYM_ASSERT(first <= tensor.elements && out.size() <= tensor.elements - first,
               "elements of the parameter");
    if (codec_ == DeltaCodec::kDense) return read_rows(from, tensor, first, out);
    const std::uint64_t begin = tensor.begin + first * sizeof(float);
    GYM_ASSERT(begin >= from.begin && begin - from.begin + out.size_bytes() <= from.bytes.size(),
               "bytes that are here");
    std::memcpy(out.data(), from.bytes.data() + (begin - from.begin), out.size_bytes());
}

const std::uint8_t* DeltaLayout::dense_row(const DeltaBytes& from, std::size_t parameter,
                                           std::uint64_t row) const {
    const Tensor& tensor = tensors_.at(parameter);
    GYM_ASSERT(codec_ == DeltaCodec::kDense && row < codec::rows_of(tensor.elements),
               "a row of the parameter");
    const std::uint64_t begin = codec::row_begin(tensor.begin + row);
    GYM_ASSERT(begin >= from.begin && begin - from.begin + codec::kRowBytes <= from.bytes.size(),
               "bytes that are here");
    return from.bytes.data() + (begin - from.begin);
}

void DeltaLayout::read_rows(const DeltaBytes& from, const Tensor& tensor, std::uint64_t first,
                            std::span<float> out) const {
    const kernels::Isa isa = kernels::detect_isa();
    const auto parameter = static_cast<std::size_t>(&tensor - tensors_.data());
    float row[kRowElements];
    for (std::uint64_t done = 0; done < out.size();) {
        const std::uint64_t at = first + done, skip = at % kRowElements;
        const std::uint64_t here = std::min<std::uint64_t>(kRowElements - skip, out.size() - done);
        const std::uint8_t* bytes = dense_row(from, parameter, at / kRowElements);
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

}  // namespace gym::engine
