#include <algorithm>
#include <cstring>

#include "delta.hpp"
#include "gym/commit/codec.hpp"
#include "gym/engine/unit.hpp"
#include "gym/kernels/float_environment.hpp"
#include "gym/kernels/rows.h"
#include "state_of_program.hpp"

namespace gym::engine {
namespace {

using program::Program;
using program::SlotId;
using program::SlotKind;

constexpr std::string_view kDeltaMagic = "GYMDLTA1";

float load(const Bytes& bytes, std::size_t i) {
    float value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
}

StateTensor difference(const StateTensor& end, const StateTensor& base) {
    StateTensor delta = base;
    for (std::size_t i = 0; i < base.bytes.size() / sizeof(float); ++i) {
        const float value = kernels::f32::sub(load(end.bytes, i), load(base.bytes, i));
        std::memcpy(delta.bytes.data() + i * sizeof value, &value, sizeof value);
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

}  // namespace

Bytes encode_delta_state(const State& delta) {
    commit::Encoder encoder;
    encoder.raw(as_bytes(kDeltaMagic)).u32(kDeltaCodecRaw);
    encoder.u32(static_cast<std::uint32_t>(delta.tensors.size()));
    for (const StateTensor& tensor : delta.tensors)
        encoder.raw(tensor.bytes);
    return encoder.take();
}

Result<Bytes> encode_delta(const Program& train, const State& base, const State& end) {
    const kernels::ExactFloatEnvironment environment;
    GYM_TRY(const State from, base_of(train, base));
    GYM_TRY(const State to, base_of(train, end));
    State delta;
    for (std::size_t i = 0; i < from.tensors.size(); ++i)
        delta.tensors.push_back(difference(to.tensors[i], from.tensors[i]));
    return encode_delta_state(delta);
}

Result<State> decode_delta(const Program& train, ByteView bytes) {
    commit::Decoder decoder(bytes);
    GYM_TRY(const ByteView magic, decoder.raw(kDeltaMagic.size()));
    if (!std::ranges::equal(magic, as_bytes(kDeltaMagic)))
        return fail(ErrorCode::kMalformed, "these bytes are not a delta");
    GYM_TRY(const std::uint32_t codec, decoder.u32());
    if (codec != kDeltaCodecRaw)
        return fail(ErrorCode::kMalformed, "unknown delta codec " + std::to_string(codec));
    GYM_TRY(const std::uint32_t count, decoder.u32());
    const auto params = train.slots_of(SlotKind::param);
    if (count != params.size())
        return fail(ErrorCode::kShapeMismatch, "a delta of " + std::to_string(count) +
                                                   " tensors, the program has " +
                                                   std::to_string(params.size()) + " parameters");
    State delta;
    for (const SlotId id : params) {
        GYM_TRY(const ByteView content, decoder.raw(program::size_bytes(train.slot(id))));
        if (has_foreign_nan(content))
            return fail(ErrorCode::kMalformed, "the delta of '" + train.slot(id).name +
                                                   "' holds a NaN that no op produces");
        delta.tensors.push_back(empty_tensor(train.slot(id)));
        delta.tensors.back().bytes.assign(content.begin(), content.end());
    }
    GYM_CHECK(decoder.expect_end());
    return delta;
}

std::uint32_t delta_norm_bits(const State& delta) {
    const kernels::ExactFloatEnvironment environment;
    std::vector<float> squares;
    squares.reserve(delta.size_bytes() / sizeof(float));
    for (const StateTensor& tensor : delta.tensors) {
        for (std::size_t i = 0; i < tensor.bytes.size() / sizeof(float); ++i) {
            const float value = load(tensor.bytes, i);
            squares.push_back(kernels::f32::mul(value, value));
        }
    }
    const auto count = static_cast<std::int64_t>(squares.size());
    return kernels::f32::to_bits(kernels::f32::sqrt(kernels::exact_sum(squares.data(), count)));
}

}  // namespace gym::engine
