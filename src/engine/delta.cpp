#include "gym/engine/delta.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "gym/commit/codec.hpp"
#include "gym/kernels/float_environment.hpp"
#include "gym/kernels/rows.h"
#include "state_of_program.hpp"

namespace gym::engine {
namespace {

using program::Program;
using program::SlotId;
using program::SlotKind;

constexpr std::string_view kDeltaMagic = "GYMDLTA1";

float load(ByteView bytes, std::size_t i) {
    float value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
}

Bytes difference(const StateTensor& end, const StateTensor& base) {
    Bytes delta(base.bytes.size());
    for (std::size_t i = 0; i < base.bytes.size() / sizeof(float); ++i) {
        const float value = kernels::f32::sub(load(end.bytes, i), load(base.bytes, i));
        std::memcpy(delta.data() + i * sizeof value, &value, sizeof value);
    }
    return delta;
}

bool has_foreign_nan(ByteView bytes) {
    for (std::size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float)) {
        float value = 0;
        std::memcpy(&value, bytes.data() + i, sizeof value);
        if (value != value && kernels::f32::to_bits(value) != kernels::f32::kNanBits) return true;
    }
    return false;
}

/// The header of every delta: magic, codec, number of tensors.
void encode_header(commit::Encoder& encoder, std::size_t tensors) {
    encoder.raw(as_bytes(kDeltaMagic)).u32(kDeltaCodecRaw);
    encoder.u32(static_cast<std::uint32_t>(tensors));
}

Status read_header(commit::Decoder& decoder, std::size_t parameters) {
    GYM_TRY(const ByteView magic, decoder.raw(kDeltaMagic.size()));
    if (!std::ranges::equal(magic, as_bytes(kDeltaMagic)))
        return fail(ErrorCode::kMalformed, "these bytes are not a delta");
    GYM_TRY(const std::uint32_t codec, decoder.u32());
    if (codec != kDeltaCodecRaw)
        return fail(ErrorCode::kMalformed, "unknown delta codec " + std::to_string(codec));
    GYM_TRY(const std::uint32_t count, decoder.u32());
    if (count == parameters) return {};
    return fail(ErrorCode::kShapeMismatch, "a delta of " + std::to_string(count) +
                                               " tensors, the program has " +
                                               std::to_string(parameters) + " parameters");
}

}  // namespace

Result<Bytes> encode_delta(const Program& train, const State& base, const State& end) {
    const kernels::ExactFloatEnvironment environment;
    GYM_TRY(const State from, base_of(train, base));
    GYM_TRY(const State to, base_of(train, end));
    commit::Encoder encoder;
    encode_header(encoder, from.tensors.size());
    for (std::size_t i = 0; i < from.tensors.size(); ++i)
        encoder.raw(difference(to.tensors[i], from.tensors[i]));
    return encoder.take();
}

Result<Delta> Delta::decode(const Program& train, const blob::VerifiedBlob& blob) {
    commit::Decoder decoder(blob.bytes());
    const auto params = train.slots_of(SlotKind::kParam);
    GYM_CHECK(read_header(decoder, params.size()));
    std::vector<Range> tensors;
    for (const SlotId id : params) {
        const std::size_t begin = blob.bytes().size() - decoder.remaining();
        GYM_TRY(const ByteView content, decoder.raw(program::size_bytes(train.slot(id))));
        if (has_foreign_nan(content))
            return fail(ErrorCode::kMalformed, "the delta of '" + train.slot(id).name +
                                                   "' holds a NaN that no op produces");
        tensors.push_back({begin, content.size()});
    }
    GYM_CHECK(decoder.expect_end());
    return Delta(blob, std::move(tensors));
}

ByteView Delta::tensor(std::size_t parameter) const {
    const Range& range = tensors_.at(parameter);
    return blob_.bytes().subspan(range.begin, range.size);
}

std::uint32_t Delta::norm_bits() const {
    const kernels::ExactFloatEnvironment environment;
    std::vector<float> squares;
    squares.reserve(blob_.bytes().size() / sizeof(float));
    for (std::size_t parameter = 0; parameter < parameters(); ++parameter) {
        const ByteView elements = tensor(parameter);
        for (std::size_t i = 0; i < elements.size() / sizeof(float); ++i) {
            const float value = load(elements, i);
            squares.push_back(kernels::f32::mul(value, value));
        }
    }
    const auto count = static_cast<std::int64_t>(squares.size());
    return kernels::f32::to_bits(kernels::f32::sqrt(kernels::exact_sum(squares.data(), count)));
}

double Delta::norm() const {
    return static_cast<double>(std::bit_cast<float>(norm_bits()));
}

}  // namespace gym::engine
