#include "gym/program/builder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "little_endian.hpp"

namespace gym::program {
namespace {

/// A dim at `index`, or 1 if there is none: shapes are judged by build(), not here.
std::uint32_t dim_or_one(const Dims& dims, std::size_t index) {
    return index < dims.size() ? dims[index] : 1;
}

std::uint64_t f32_bits(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

/// 1 / sqrt(size of a head). sqrt and / are correctly rounded, so every compiler finds the same.
double scale_of(const Slot& qkv, std::uint32_t heads) {
    const std::uint32_t head_size = dim_or_one(qkv.dims, 1) / 3 / heads;
    return 1.0 / std::sqrt(static_cast<double>(head_size));
}

}  // namespace

SlotId Builder::add_slot(Slot slot) {
    parts_.slots.push_back(std::move(slot));
    return static_cast<SlotId>(parts_.slots.size() - 1);
}

SlotId Builder::param(std::string name, Dims dims, Init init) {
    const SlotId id =
        add_slot({std::move(name), SlotKind::kParam, DType::kF32, std::move(dims), init});
    set_next(id, id);
    return id;
}

SlotId Builder::state(std::string name, Dims dims, Init init) {
    const SlotId id =
        add_slot({std::move(name), SlotKind::kState, DType::kF32, std::move(dims), init});
    set_next(id, id);
    return id;
}

SlotId Builder::constant(std::string name, Dims dims, const std::vector<float>& values) {
    const SlotId id =
        add_slot({std::move(name), SlotKind::kConstant, DType::kF32, std::move(dims)});
    parts_.slots[id].value = little_endian(values);
    return id;
}

SlotId Builder::indices(std::string name, Dims dims, const std::vector<std::int32_t>& values) {
    const SlotId id =
        add_slot({std::move(name), SlotKind::kConstant, DType::kI32, std::move(dims)});
    parts_.slots[id].value = little_endian(values);
    return id;
}

SlotId Builder::input(std::string name, DType dtype, Dims dims) {
    return add_slot({std::move(name), SlotKind::kInput, dtype, std::move(dims)});
}

SlotId Builder::temp(DType dtype, Dims dims) {
    return add_slot({{}, SlotKind::kTemp, dtype, std::move(dims)});
}

void Builder::set_next(SlotId slot, SlotId value) {
    parts_.slots[slot].next = value;
}

void Builder::output(std::string name, SlotId slot) {
    parts_.outputs.push_back({std::move(name), slot});
}

SlotId Builder::scalar(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const auto known = std::find_if(scalars_.begin(), scalars_.end(),
                                    [&](const auto& entry) { return entry.first == bits; });
    if (known != scalars_.end()) return known->second;
    const SlotId out = temp(DType::kF32, {1});
    append({Opcode::kFill, {}, {out}, {bits}});
    scalars_.emplace_back(bits, out);
    return out;
}

SlotId Builder::elementwise(Opcode code, std::vector<SlotId> inputs) {
    const SlotId largest = *std::max_element(inputs.begin(), inputs.end(), [&](SlotId a, SlotId b) {
        return element_count(slot(a).dims) < element_count(slot(b).dims);
    });
    const SlotId out = temp(DType::kF32, slot(largest).dims);
    append({code, std::move(inputs), {out}, {}});
    return out;
}

SlotId Builder::strided_copy(SlotId x, Dims dims, std::uint64_t offset,
                             const std::vector<std::uint64_t>& strides) {
    const SlotId out = temp(slot(x).dtype, std::move(dims));
    Op op{Opcode::kStridedCopy, {x}, {out}, {offset}};
    for (std::size_t i = 0; i < strides.size() && i < kRankMax; ++i)
        op.attributes[1 + i] = strides[i];
    append(std::move(op));
    return out;
}

SlotId Builder::concat(const std::vector<SlotId>& parts) {
    Dims dims = slot(parts.front()).dims;
    for (std::size_t i = 1; i < parts.size(); ++i)
        dims.back() += slot(parts[i]).dims.back();
    const SlotId out = temp(slot(parts.front()).dtype, std::move(dims));
    append({Opcode::kConcat, parts, {out}, {}});
    return out;
}

SlotId Builder::gather_rows(SlotId table, SlotId indices) {
    const auto rows = static_cast<std::uint32_t>(element_count(slot(indices).dims));
    const SlotId out = temp(DType::kF32, {rows, dim_or_one(slot(table).dims, 1)});
    append({Opcode::kGatherRows, {table, indices}, {out}, {}});
    return out;
}

SlotId Builder::causal_fill(SlotId x, float value) {
    const SlotId out = temp(DType::kF32, slot(x).dims);
    append({Opcode::kCausalFill, {x}, {out}, {f32_bits(value)}});
    return out;
}

SlotId Builder::row_sum(SlotId x) {
    Dims dims = slot(x).dims;
    dims.back() = 1;
    const SlotId out = temp(DType::kF32, std::move(dims));
    append({Opcode::kRowSum, {x}, {out}, {}});
    return out;
}

SlotId Builder::column_sum(SlotId x, Dims dims) {
    const SlotId out = temp(DType::kF32, std::move(dims));
    append({Opcode::kColumnSum, {x}, {out}, {}});
    return out;
}

SlotId Builder::sum_squares(SlotId x) {
    const SlotId out = temp(DType::kF32, {1});
    append({Opcode::kSumSquares, {x}, {out}, {}});
    return out;
}

SlotId Builder::sum_tensors(const std::vector<SlotId>& parts) {
    const SlotId out = temp(DType::kF32, slot(parts.front()).dims);
    append({Opcode::kSumTensors, parts, {out}, {}});
    return out;
}

SlotId Builder::matmul(SlotId a, SlotId b, bool transpose_a, bool transpose_b) {
    const Dims dims{dim_or_one(slot(a).dims, transpose_a ? 1 : 0),
                    dim_or_one(slot(b).dims, transpose_b ? 1 : 0)};
    const SlotId out = temp(DType::kF32, dims);
    append({Opcode::kMatmul, {a, b}, {out}, {transpose_a, transpose_b}});
    return out;
}

SlotId Builder::layernorm(SlotId x, SlotId gamma, SlotId beta, float epsilon) {
    const SlotId y = temp(DType::kF32, slot(x).dims);
    const SlotId mean = temp(DType::kF32, {slot(x).dims[0], 1});
    const SlotId rstd = temp(DType::kF32, {slot(x).dims[0], 1});
    append({Opcode::kLayernorm, {x, gamma, beta}, {y, mean, rstd}, {f32_bits(epsilon)}});
    return y;
}

SlotId Builder::append_attention(Op op) {
    const auto context = static_cast<std::uint32_t>(op.attributes[0]),
               heads = static_cast<std::uint32_t>(op.attributes[1]);
    const Dims qkv = slot(op.inputs[0]).dims;
    const Dims row_dims{qkv[0] / context, heads, context, 1};
    const SlotId o = temp(DType::kF32, {qkv[0], dim_or_one(qkv, 1) / 3});
    const SlotId m = temp(DType::kF32, row_dims);
    const SlotId l = temp(DType::kF32, row_dims);
    op.outputs = {o, m, l};
    append(std::move(op));
    return o;
}

SlotId Builder::attention(SlotId qkv, std::uint32_t context, std::uint32_t heads, Reads reads) {
    return attention(qkv, context, heads, scale_of(slot(qkv), heads), reads);
}

SlotId Builder::attention(SlotId qkv, std::uint32_t context, std::uint32_t heads, double scale,
                          Reads reads) {
    const std::uint64_t bits = f32_bits(static_cast<float>(scale));
    return append_attention(
        {Opcode::kAttention, {qkv}, {}, {context, heads, bits, reads == Reads::kAll ? 1U : 0U}});
}

SlotId Builder::attention_documents(SlotId qkv, SlotId documents, std::uint32_t context,
                                    std::uint32_t heads) {
    const std::uint64_t bits = f32_bits(static_cast<float>(scale_of(slot(qkv), heads)));
    return append_attention(
        {Opcode::kAttentionDocuments, {qkv, documents}, {}, {context, heads, bits}});
}

SlotId Builder::rmsnorm(SlotId x, SlotId gamma, float epsilon) {
    const SlotId y = temp(DType::kF32, slot(x).dims);
    const SlotId rstd = temp(DType::kF32, {slot(x).dims[0], 1});
    append({Opcode::kRmsnorm, {x, gamma}, {y, rstd}, {f32_bits(epsilon)}});
    return y;
}

SlotId Builder::rope(SlotId x, SlotId cosine, SlotId sine, std::uint32_t heads) {
    const SlotId y = temp(DType::kF32, slot(x).dims);
    append({Opcode::kRope, {x, cosine, sine}, {y}, {heads, 0}});
    return y;
}

SlotId Builder::repeat_heads(SlotId x, std::uint32_t heads, std::uint32_t kv_heads) {
    const std::uint32_t size = dim_or_one(slot(x).dims, 1) / (heads + 2 * kv_heads);
    const SlotId y = temp(DType::kF32, {slot(x).dims[0], 3 * heads * size});
    append({Opcode::kRepeatHeads, {x}, {y}, {heads, kv_heads}});
    return y;
}

SlotId Builder::swiglu(SlotId gate, SlotId up) {
    const SlotId y = temp(DType::kF32, slot(gate).dims);
    append({Opcode::kSwiglu, {gate, up}, {y}, {}});
    return y;
}

SlotId Builder::cross_entropy(SlotId logits, SlotId targets) {
    const Dims column{slot(logits).dims[0], 1};
    const SlotId loss = temp(DType::kF32, {1});
    const SlotId m = temp(DType::kF32, column);
    const SlotId l = temp(DType::kF32, column);
    append({Opcode::kCrossEntropy, {logits, targets}, {loss, m, l}, {}});
    return loss;
}

}  // namespace gym::program
