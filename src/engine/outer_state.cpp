#include "gym/engine/outer_state.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "gym/codec/row_layout.hpp"
#include "gym/engine/unit.hpp"
#include "gym/kernels/dense_rows.hpp"
#include "gym/kernels/float_environment.hpp"
#include "gym/kernels/vector_ops.hpp"
#include "gym/program/train_program.hpp"
#include "gym/program/update_codec.hpp"
#include "state_of_program.hpp"

namespace gym::engine {
namespace {

using program::Program;
using program::SlotKind;
using program::UpdateCodec;

/// Elements that are added at a time.
constexpr std::uint64_t kTile = 8 * codec::kRowElements;

State zeros_named(const State& base, std::string_view prefix) {
    State zeros;
    for (const StateTensor& param : base.tensors)
        zeros.tensors.push_back(
            {std::string(prefix) + param.name, param.dtype, param.dims, Bytes(param.bytes.size())});
    return zeros;
}

/// Rows of zeros: the delta between a state and itself.
Result<StateTensor> zero_update(const Program& train) {
    GYM_TRY(Bytes bytes, zero_delta(train));
    const std::uint64_t size = bytes.size();
    return StateTensor{std::string(kUpdateTensor), commit::DType::kU8, {size}, std::move(bytes)};
}

/// The tensor of this name, which has to be like another one.
Result<StateTensor*> find_like(State& given, const std::string& name, const StateTensor& like) {
    const auto found = std::ranges::find(given.tensors, name, &StateTensor::name);
    if (found == given.tensors.end())
        return fail(ErrorCode::kShapeMismatch, "no tensor '" + name + "' was given");
    if (found->dtype == like.dtype && found->dims == like.dims &&
        found->bytes.size() == like.bytes.size())
        return &*found;
    return fail(ErrorCode::kShapeMismatch,
                "tensor '" + name + "' does not have the program's shape");
}

Status move_named(State& given, const State& base, std::string_view prefix, State& outer) {
    for (const StateTensor& param : base.tensors) {
        GYM_TRY(StateTensor* const tensor,
                find_like(given, std::string(prefix) + param.name, param));
        outer.tensors.push_back(std::move(*tensor));
    }
    return {};
}

/// As encode_state() writes it, contents included.
std::uint64_t encoded_bytes(std::size_t name, std::size_t rank, std::uint64_t content) {
    constexpr std::uint64_t kFixed = 4 + 1 + 1;  // length of the name, dtype, rank
    return kFixed + name + 8 * rank + content;
}

}  // namespace

State zero_momentum(const State& base) {
    return zeros_named(base, program::kMomentumPrefix);
}

Result<State> zero_outer_state(const Program& train, const State& base) {
    GYM_TRY(const UpdateCodec codec, program::update_codec(train));
    GYM_CHECK(check_state(train, train.slots_of(SlotKind::kParam), base));
    State outer = zero_momentum(base);
    if (codec == UpdateCodec::kNone) return outer;
    State residuals = zeros_named(base, kResidualPrefix);
    std::ranges::move(residuals.tensors, std::back_inserter(outer.tensors));
    GYM_TRY(StateTensor update, zero_update(train));
    outer.tensors.push_back(std::move(update));
    return outer;
}

Result<State> outer_state_before_step(const Program& train, const State& base, State given) {
    if (given.tensors.empty()) return zero_outer_state(train, base);
    GYM_TRY(const UpdateCodec codec, program::update_codec(train));
    State outer;
    GYM_CHECK(move_named(given, base, program::kMomentumPrefix, outer));
    if (codec == UpdateCodec::kNone) return outer;
    GYM_CHECK(move_named(given, base, kResidualPrefix, outer));
    GYM_TRY(StateTensor update, zero_update(train));
    const auto before = find_like(given, update.name, update);
    if (!before.ok()) return before.error();
    outer.tensors.push_back(std::move(update));
    return outer;
}

Result<std::uint64_t> state_bytes_max(const Program& train) {
    GYM_TRY(const UpdateCodec codec, program::update_codec(train));
    static_assert(program::kMomentumPrefix.size() == kResidualPrefix.size());
    const std::uint64_t copies = codec == UpdateCodec::kNone ? 1 : 2;
    std::uint64_t bytes = encode_state({}).size();
    for (const program::SlotId id : train.slots_of(SlotKind::kParam)) {
        const program::Slot& param = train.slot(id);
        bytes += copies * encoded_bytes(kResidualPrefix.size() + param.name.size(),
                                        param.dims.size(), program::size_bytes(param));
    }
    if (codec == UpdateCodec::kNone) return bytes;
    GYM_TRY(const std::uint64_t update, delta_bytes(train));
    return bytes + encoded_bytes(kUpdateTensor.size(), 1, update);
}

ByteView update_of(const State& outer) {
    const StateTensor* tensor = outer.find(kUpdateTensor);
    return tensor == nullptr ? ByteView{} : ByteView(tensor->bytes);
}

Result<State> with_update(State base, const Delta& update) {
    GYM_CHECK(check_fits(base, update));
    const kernels::ExactFloatEnvironment environment;
    const kernels::Isa isa = kernels::detect_isa();
    std::array<float, kTile> moved{}, change{};
    for (std::size_t i = 0; i < base.tensors.size(); ++i) {
        Bytes& bytes = base.tensors[i].bytes;
        const std::uint64_t elements = bytes.size() / sizeof(float);
        for (std::uint64_t first = 0; first < elements; first += kTile) {
            const std::uint64_t count = std::min(kTile, elements - first);
            std::uint8_t* const at = bytes.data() + first * sizeof(float);
            std::memcpy(moved.data(), at, count * sizeof(float));
            update.read(i, first, {change.data(), count});
            kernels::map_binary(isa, kernels::BinaryOp::kAdd, moved.data(), change.data(),
                                moved.data(), static_cast<std::int64_t>(count));
            std::memcpy(at, moved.data(), count * sizeof(float));
        }
    }
    return base;
}

void publish_rows(kernels::Isa isa, std::span<float> residual, std::span<float> base,
                  std::span<std::uint8_t> update, std::uint64_t row) {
    static constexpr std::array<float, codec::kRowElements> kZeros{};
    std::array<float, codec::kRowElements> decoded{};
    for (std::uint64_t first = 0; first < residual.size(); first += codec::kRowElements, ++row) {
        const std::uint64_t here = std::min(codec::kRowElements, residual.size() - first);
        const auto count = static_cast<std::int32_t>(here);
        float* const u = residual.data() + first;
        float* const moved = base.data() + first;
        std::uint8_t* const bytes = update.data() + codec::row_begin(row);
        kernels::encode_dense_row(isa, u, kZeros.data(), count, bytes);
        kernels::decode_dense_row(isa, bytes, count, decoded.data());
        kernels::map_binary(isa, kernels::BinaryOp::kAdd, moved, decoded.data(), moved, count);
        kernels::map_binary(isa, kernels::BinaryOp::kSub, u, decoded.data(), u, count);
    }
}

}  // namespace gym::engine
