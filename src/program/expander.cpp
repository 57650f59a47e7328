#include "expander.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "gym/program/validate.hpp"

namespace gym::program {
namespace {

Dims with_last(Dims dims, std::uint64_t last) {
    dims.back() = static_cast<std::uint32_t>(last);
    return dims;
}

}  // namespace

SlotId Expander::temp(DType dtype, Dims dims) {
    Slot slot;
    slot.dtype = dtype;
    slot.dims = std::move(dims);
    expansion_.temps.push_back(std::move(slot));
    return expansion_.first_temp + static_cast<SlotId>(expansion_.temps.size() - 1);
}

void Expander::emit(Opcode code, std::vector<SlotId> inputs, SlotId output,
                    const std::vector<std::uint64_t>& attributes) {
    Op op;
    op.code = code;
    op.inputs = std::move(inputs);
    op.outputs = {output};
    std::copy(attributes.begin(), attributes.end(), op.attributes.begin());
    expansion_.ops.push_back(std::move(op));
}

SlotId Expander::number(float value) {
    return number_bits(std::bit_cast<std::uint32_t>(value));
}

SlotId Expander::number_bits(std::uint32_t bits) {
    const SlotId out = temp(DType::kF32, {1});
    emit(Opcode::kFill, {}, out, {bits});
    return out;
}

SlotId Expander::map(Opcode code, std::vector<SlotId> inputs, SlotId target) {
    const SlotId largest = *std::max_element(inputs.begin(), inputs.end(), [&](SlotId a, SlotId b) {
        return element_count(dims(a)) < element_count(dims(b));
    });
    const SlotId out = target == kNoSlot ? temp(DType::kF32, dims(largest)) : target;
    emit(code, std::move(inputs), out);
    return out;
}

SlotId Expander::map_to(Dims dims, Opcode code, std::vector<SlotId> inputs) {
    return map(code, std::move(inputs), temp(DType::kF32, std::move(dims)));
}

SlotId Expander::copy(SlotId x, const Layout& layout, SlotId target) {
    const SlotId out = target == kNoSlot ? temp(slot(x).dtype, layout.dims) : target;
    std::vector<std::uint64_t> attributes{layout.offset};
    attributes.insert(attributes.end(), layout.strides.begin(), layout.strides.end());
    emit(Opcode::kStridedCopy, {x}, out, attributes);
    return out;
}

SlotId Expander::transpose(SlotId x) {
    Layout layout{dims(x), 0, std::vector<std::uint64_t>(dims(x).size())};
    std::uint64_t stride = 1;
    for (std::size_t k = layout.dims.size(); k-- > 0;) {
        layout.strides[k] = stride;
        stride *= layout.dims[k];
    }
    const std::size_t last = layout.dims.size() - 1;
    std::swap(layout.dims[last], layout.dims[last - 1]);
    std::swap(layout.strides[last], layout.strides[last - 1]);
    return copy(x, layout);
}

SlotId Expander::causal_fill(SlotId x, float value, SlotId target) {
    const SlotId out = target == kNoSlot ? temp(DType::kF32, dims(x)) : target;
    emit(Opcode::kCausalFill, {x}, out, {std::bit_cast<std::uint32_t>(value)});
    return out;
}

SlotId Expander::reduce(Opcode code, SlotId x, SlotId target) {
    do {
        const std::uint64_t blocks = block_count(dims(x).back());
        const DType dtype = code == Opcode::kBlockSum ? DType::kI64 : slot(x).dtype;
        const bool last = blocks == 1 && target != kNoSlot;
        const SlotId out = last ? target : temp(dtype, with_last(dims(x), blocks));
        emit(code, {x}, out);
        x = out;
    } while (dims(x).back() > 1);
    return x;
}

SlotId Expander::exponents(SlotId x, int exponent) {
    const SlotId out = temp(DType::kI32, with_last(dims(x), block_count(dims(x).back())));
    if (exponent == kMeasured)
        emit(Opcode::kBlockExponent, {x}, out);
    else
        emit(Opcode::kConstantExponent, {x}, out, {static_cast<std::uint64_t>(exponent)});
    return out;
}

SlotId Expander::exact_sum(SlotId x, SlotId target, int exponent) {
    const SlotId e = reduce(Opcode::kBlockMax, exponents(x, exponent));
    const SlotId q = temp(DType::kI32, dims(x));
    emit(Opcode::kQuantiseI32, {x, e}, q);
    const SlotId sum = reduce(Opcode::kBlockSum, q);
    const SlotId out = target == kNoSlot ? temp(DType::kF32, with_last(dims(x), 1)) : target;
    emit(Opcode::kFinishSum, {sum, e}, out);
    return out;
}

SlotId Expander::column_sum(SlotId x, std::uint32_t columns, SlotId target) {
    const std::uint64_t rows = element_count(dims(x)) / columns;
    const Layout layout{{columns, static_cast<std::uint32_t>(rows)}, 0, {1, columns}};
    return exact_sum(copy(x, layout), target);
}

SlotId Expander::powers_of_two(SlotId exponents_of_rows) {
    const SlotId one = temp(DType::kF32, dims(exponents_of_rows));
    emit(Opcode::kFill, {}, one, {std::bit_cast<std::uint32_t>(1.0F)});
    const SlotId zero = exponents(one, 0);
    const SlotId q = temp(DType::kI32, dims(one));
    emit(Opcode::kQuantiseI32, {one, zero}, q);
    const SlotId sum = reduce(Opcode::kBlockSum, q);
    const SlotId out = temp(DType::kF32, dims(one));
    emit(Opcode::kFinishSum, {sum, exponents_of_rows}, out);
    return out;
}

SlotId Expander::product(SlotId a, SlotId b, FactorExponents of, SlotId target) {
    const SlotId a_blocks = exponents(a, of.a);
    const SlotId a_rows = reduce(Opcode::kBlockMax, a_blocks);
    const SlotId b_blocks = exponents(b, of.b);
    const SlotId b_rows = reduce(Opcode::kBlockMax, b_blocks);
    const SlotId a_q = temp(DType::kI16, dims(a)), b_q = temp(DType::kI16, dims(b));
    emit(Opcode::kQuantiseI16, {a, a_blocks}, a_q);
    emit(Opcode::kQuantiseI16, {b, b_blocks}, b_q);
    Dims cell(dims(a).begin(), dims(a).end() - 1);
    cell.push_back(dims(b)[dims(b).size() - 2]);
    Dims blocks = cell;
    blocks.push_back(dims(a_blocks).back());
    const SlotId dots = temp(DType::kI64, blocks), terms = temp(DType::kI64, blocks);
    emit(Opcode::kBlockDot, {a_q, b_q}, dots);
    emit(Opcode::kRescaleDot, {dots, a_blocks, a_rows, b_blocks, b_rows}, terms);
    const SlotId out = target == kNoSlot ? temp(DType::kF32, cell) : target;
    emit(Opcode::kFinishProduct, {reduce(Opcode::kBlockSum, terms), a_rows, b_rows}, out);
    return out;
}

}  // namespace gym::program
