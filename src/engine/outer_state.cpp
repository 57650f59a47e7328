#include "gym/engine/outer_state.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "delta_check.hpp"
#include "gym/codec/row_layout.hpp"
#include "gym/engine/state_index.hpp"
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

Result<StateLayout> outer_layout(const Program& train) {
    GYM_TRY(const UpdateCodec codec, program::update_codec(train));
    const StateLayout params = parameter_layout(train);
    StateLayout out;
    const auto add_like = [&](std::string_view prefix) {
        for (const TensorLayout& param : params)
            out.push_back({std::string(prefix) + param.name, param.dtype, param.dims});
    };
    add_like(program::kMomentumPrefix);
    if (codec == UpdateCodec::kNone) return out;
    add_like(kResidualPrefix);
    GYM_TRY(const std::uint64_t update, delta_bytes(train));
    out.push_back({std::string(kUpdateTensor), commit::DType::kU8, {update}});
    return out;
}

Result<Bytes> encoded_zero_outer_state(const Program& train) {
    GYM_TRY(const UpdateCodec codec, program::update_codec(train));
    GYM_TRY(StateLayout layout, outer_layout(train));
    GYM_TRY(const StateIndex index, StateIndex::of(std::move(layout)));
    Bytes out = index.encode();
    out.resize(index.size_bytes());
    if (codec == UpdateCodec::kNone) return out;
    const std::size_t params = train.slots_of(SlotKind::kParam).size();
    std::ranges::copy(delta_head(program::DeltaCodec::kDense, params),
                      out.begin() + static_cast<std::ptrdiff_t>(index.begin(2 * params)));
    return out;
}

Result<std::uint64_t> state_bytes_max(const Program& train) {
    // An outer state has all tensors that a base state has, under longer names.
    GYM_TRY(StateLayout outer, outer_layout(train));
    GYM_TRY(const StateIndex index, StateIndex::of(std::move(outer)));
    return index.size_bytes();
}

ByteView update_of(const State& outer) {
    const StateTensor* tensor = outer.find(kUpdateTensor);
    return tensor == nullptr ? ByteView{} : ByteView(tensor->bytes);
}

Result<Bytes> with_update(const Program& train, Bytes base, const Delta& update) {
    GYM_TRY(const StateIndex index, StateIndex::of(parameter_layout(train)));
    GYM_CHECK(index.check(base));
    GYM_CHECK(check_fits(train, update));
    const kernels::ExactFloatEnvironment environment;
    const kernels::Isa isa = kernels::detect_isa();
    std::array<float, kTile> moved{}, change{};
    for (std::size_t i = 0; i < index.tensors(); ++i) {
        const std::uint64_t elements = index.tensor_bytes(i) / sizeof(float);
        for (std::uint64_t first = 0; first < elements; first += kTile) {
            const std::uint64_t count = std::min(kTile, elements - first);
            std::uint8_t* const at = base.data() + index.begin(i) + first * sizeof(float);
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
