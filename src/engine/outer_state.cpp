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
Result<StateTensor> zero_update(const Program& train, const State& base) {
    GYM_TRY(Bytes bytes, encode_delta(train, base, base));
    const std::uint64_t size = bytes.size();
    return StateTensor{std::string(kUpdateTensor), commit::DType::kU8, {size}, std::move(bytes)};
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
    GYM_TRY(StateTensor update, zero_update(train, base));
    outer.tensors.push_back(std::move(update));
    return outer;
}

Result<State> ordered_outer_state(const Program& train, const State& base, const State& given) {
    GYM_TRY(State outer, zero_outer_state(train, base));
    if (given.tensors.empty()) return outer;
    for (StateTensor& tensor : outer.tensors) {
        const StateTensor* found = given.find(tensor.name);
        if (found == nullptr)
            return fail(ErrorCode::kShapeMismatch, "no tensor '" + tensor.name + "' was given");
        if (found->dtype != tensor.dtype || found->dims != tensor.dims ||
            found->bytes.size() != tensor.bytes.size())
            return fail(ErrorCode::kShapeMismatch,
                        "tensor '" + tensor.name + "' does not have the program's shape");
        tensor.bytes = found->bytes;
    }
    return outer;
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
