#include "gym/dispute/element.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "gym/kernels/float_environment.hpp"
#include "gym/kernels/philox.h"
#include "gym/kernels/programs.h"
#include "gym/kernels/q14.h"
#include "gym/program/validate.hpp"

namespace gym::dispute {
namespace {

using program::DType;
using program::Opcode;
namespace f = kernels::f32;

template <class T>
T read(const Bytes& bytes, std::uint64_t i = 0) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
}

template <class T>
Bytes bytes_of(T value) {
    Bytes bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

/// The element in its parts, for the functions below.
struct Call {
    const PrimitiveRecord& record;
    std::span<const Bytes> operands;
    std::uint64_t element;

    [[nodiscard]] float x(std::size_t k) const { return read<float>(operands[k]); }
    [[nodiscard]] std::int32_t i32(std::size_t k) const { return read<std::int32_t>(operands[k]); }
    [[nodiscard]] std::int64_t i64(std::size_t k) const { return read<std::int64_t>(operands[k]); }
    [[nodiscard]] float f32_attribute(std::size_t k) const {
        return f::from_bits(static_cast<std::uint32_t>(record.attributes[k]));
    }
    /// Elements of operand k that were given.
    [[nodiscard]] std::uint64_t count(std::size_t k) const {
        return operands[k].size() / commit::size_bytes(record.inputs[k].shape.dtype);
    }
    /// All of operand k, aligned.
    template <class T>
    [[nodiscard]] std::vector<T> all(std::size_t k) const {
        std::vector<T> values(operands[k].size() / sizeof(T));
        if (!values.empty()) std::memcpy(values.data(), operands[k].data(), operands[k].size());
        return values;
    }
};

std::uint64_t clamped(std::int32_t index, std::uint64_t count) {
    return static_cast<std::uint64_t>(
        std::clamp<std::int64_t>(index, 0, static_cast<std::int64_t>(count) - 1));
}

float elementwise(const Call& c) {
    switch (c.record.code) {
        case Opcode::kFill:
            return f::canonical(c.f32_attribute(0));
        case Opcode::kAdd:
            return f::add(c.x(0), c.x(1));
        case Opcode::kSub:
            return f::sub(c.x(0), c.x(1));
        case Opcode::kMul:
            return f::mul(c.x(0), c.x(1));
        case Opcode::kDiv:
            return f::div(c.x(0), c.x(1));
        case Opcode::kMin:
            return f::min(c.x(0), c.x(1));
        case Opcode::kFma:
            return f::fma(c.x(0), c.x(1), c.x(2));
        case Opcode::kSqrt:
            return f::sqrt(c.x(0));
        case Opcode::kRsqrt:
            return f::rsqrt(c.x(0));
        case Opcode::kExp:
            return f::exp(c.x(0));
        case Opcode::kLog:
            return f::log(c.x(0));
        case Opcode::kSigmoid:
            return f::sigmoid(c.x(0));
        case Opcode::kGelu:
            return f::gelu(c.x(0));
        case Opcode::kSilu:
            return f::silu(c.x(0));
        case Opcode::kLessEqual:
            return f::less_equal(c.x(0), c.x(1)) ? 1.0F : 0.0F;
        default:  // select
            return f::select(c.x(0) > 0.0F, c.x(1), c.x(2));
    }
}

Bytes movement(const Call& c) {
    switch (c.record.code) {
        case Opcode::kOneHot: {
            const std::uint64_t width = c.record.output.dims[1];
            return bytes_of(clamped(c.i32(0), width) == c.element % width ? 1.0F : 0.0F);
        }
        case Opcode::kCausalFill: {
            const std::uint64_t width = c.record.output.dims.back();
            const std::uint64_t row = c.element / width % width, column = c.element % width;
            if (column > row) return bytes_of(f::canonical(c.f32_attribute(0)));
            return c.operands[0];
        }
        case Opcode::kRandomMask: {
            const kernels::RandomMask mask{static_cast<std::uint32_t>(c.record.attributes[0]),
                                           static_cast<std::uint32_t>(c.record.attributes[1]),
                                           c.f32_attribute(2)};
            return bytes_of(
                kernels::random_mask_element(c.all<std::int32_t>(0).data(), mask, c.element));
        }
        default:  // strided_copy, concat, gather_rows, pick: the one element that was given
            return *std::ranges::find_if(c.operands, [&](const Bytes& bytes) {
                return bytes.size() == commit::size_bytes(c.record.output.dtype);
            });
    }
}

Bytes block_max(const Call& c) {
    if (c.record.output.dtype == DType::kI32)
        return bytes_of(std::ranges::max(c.all<std::int32_t>(0)));
    const std::vector<float> x = c.all<float>(0);
    float best = f::canonical(x[0]);
    for (std::size_t i = 1; i < x.size(); ++i)
        best = f::max(best, x[i]);
    return bytes_of(best);
}

std::int32_t constant_exponent(const Call& c) {
    const auto exponent = static_cast<std::int32_t>(c.record.attributes[0]);
    const bool fits = std::ranges::all_of(c.all<float>(0),
                                          [&](float x) { return kernels::q14_fits(x, exponent); });
    return fits ? exponent : kernels::kExponentPoisoned;
}

/// Modulo 2^64.
std::int64_t block_sum(const Call& c) {
    std::uint64_t total = 0;
    const bool wide = c.record.inputs[0].shape.dtype == DType::kI64;
    for (std::uint64_t i = 0; i < c.count(0); ++i)
        total += static_cast<std::uint64_t>(wide ? read<std::int64_t>(c.operands[0], i)
                                                 : read<std::int32_t>(c.operands[0], i));
    return static_cast<std::int64_t>(total);
}

std::int64_t select_sum(const Call& c) {
    const auto& dims = c.record.output.dims;  // (V, D, blocks)
    const std::uint64_t wanted = c.element / (std::uint64_t{dims[1]} * dims[2]);
    std::int64_t total = 0;
    for (std::uint64_t i = 0; i < c.count(0); ++i)
        if (clamped(read<std::int32_t>(c.operands[1], i), dims[0]) == wanted)
            total += read<std::int32_t>(c.operands[0], i);
    return total;
}

std::int64_t block_dot(const Call& c) {
    std::int64_t total = 0;
    for (std::uint64_t i = 0; i < c.count(0); ++i)
        total += std::int64_t{read<std::int16_t>(c.operands[0], i)} *
                 read<std::int16_t>(c.operands[1], i);
    return total;
}

Bytes integer_part(const Call& c) {
    switch (c.record.code) {
        case Opcode::kBlockMax:
            return block_max(c);
        case Opcode::kBlockExponent:
            return bytes_of(kernels::row_exponent(c.all<float>(0).data(),
                                                  static_cast<std::int64_t>(c.count(0))));
        case Opcode::kConstantExponent:
            return bytes_of(constant_exponent(c));
        case Opcode::kQuantiseI32:
            return bytes_of(kernels::sum_term(c.x(0), kernels::bounded_exponent(c.i32(1))));
        case Opcode::kQuantiseI16:
            return bytes_of(static_cast<std::int16_t>(
                kernels::q14_quantise(c.x(0), kernels::bounded_exponent(c.i32(1)))));
        case Opcode::kBlockSum:
            return bytes_of(block_sum(c));
        case Opcode::kSelectSum:
            return bytes_of(select_sum(c));
        case Opcode::kFinishSum:
            return bytes_of(kernels::sum_finish(c.i64(0), kernels::bounded_exponent(c.i32(1))));
        case Opcode::kBlockDot:
            return bytes_of(block_dot(c));
        case Opcode::kRescaleDot:
            return bytes_of(kernels::q14_block_term(
                c.i64(0), std::int64_t{c.i32(2)} - c.i32(1) + c.i32(4) - c.i32(3)));
        default:  // finish_product
            return bytes_of(kernels::q14_finish_any(c.i64(0), c.i32(1), c.i32(2)));
    }
}

}  // namespace

Result<ElementOp> ElementOp::create(PrimitiveRecord record) {
    ElementOp out;
    out.op_.code = record.code;
    out.op_.attributes = record.attributes;
    for (const Operand& operand : record.inputs) {
        out.op_.inputs.push_back(static_cast<program::SlotId>(out.slots_.size()));
        out.slots_.push_back({.kind = program::SlotKind::kInput,
                              .dtype = operand.shape.dtype,
                              .dims = program_dims(operand.shape)});
    }
    out.op_.outputs = {static_cast<program::SlotId>(out.slots_.size())};
    out.slots_.push_back({.dtype = record.output.dtype, .dims = program_dims(record.output)});
    GYM_CHECK(program::check_attributes(out.op_));
    GYM_CHECK(program::check_op(out.slots_, out.op_));
    out.record_ = std::move(record);
    return out;
}

bool ElementOp::gathers() const {
    return record_.code == Opcode::kGatherRows || record_.code == Opcode::kPick;
}

program::ElementRange ElementOp::reach(std::size_t operand, std::uint64_t element,
                                       std::int32_t index) const {
    return program::depends_on(slots_, op_, operand, element,
                               [&](program::SlotId, std::uint64_t) { return index; });
}

Status ElementOp::check_operands(std::span<const Bytes> operands, std::uint64_t element) const {
    if (element >= element_count(record_.output))
        return fail(ErrorCode::kOutOfRange, "the primitive's output has no such element");
    if (operands.size() != record_.inputs.size())
        return fail(ErrorCode::kShapeMismatch, "another number of operands");
    const std::int32_t index = gathers() && operands[1].size() == sizeof(std::int32_t)
                                   ? read<std::int32_t>(operands[1])
                                   : 0;
    for (std::size_t k = 0; k < operands.size(); ++k) {
        const std::uint64_t size =
            reach(k, element, index).count * commit::size_bytes(record_.inputs[k].shape.dtype);
        if (operands[k].size() != size)
            return fail(ErrorCode::kShapeMismatch, "operand " + std::to_string(k) + " has " +
                                                       std::to_string(operands[k].size()) +
                                                       " bytes where the element reads " +
                                                       std::to_string(size));
    }
    return {};
}

Result<Bytes> ElementOp::evaluate(std::span<const Bytes> operands, std::uint64_t element) const {
    GYM_CHECK(check_operands(operands, element));
    const kernels::ExactFloatEnvironment environment;
    const Call call{record_, operands, element};
    if (record_.code < Opcode::kStridedCopy) return bytes_of(elementwise(call));
    if (record_.code < Opcode::kBlockMax) return movement(call);
    return integer_part(call);
}

}  // namespace gym::dispute
