#include "gym/program/opcode.hpp"

#include <algorithm>
#include <array>

#include "gym/common/assert.hpp"

namespace gym::program {
namespace {

using enum AttributeKind;

constexpr std::array<AttributeInfo, 1> kValue{{{"value", f32_bits}}};
constexpr std::array<AttributeInfo, 6> kStrides{{{"offset", integer},
                                                 {"stride0", integer},
                                                 {"stride1", integer},
                                                 {"stride2", integer},
                                                 {"stride3", integer},
                                                 {"stride4", integer}}};
constexpr std::array<AttributeInfo, 1> kExponent{{{"exponent", integer}}};
constexpr std::array<AttributeInfo, 2> kTransposes{{{"transpose_a", flag}, {"transpose_b", flag}}};
constexpr std::array<AttributeInfo, 1> kEpsilon{{{"epsilon", f32_bits}}};
constexpr std::array<AttributeInfo, 3> kHeads{
    {{"context", integer}, {"heads", integer}, {"scale", f32_bits}}};
constexpr std::array<AttributeInfo, 3> kMask{
    {{"op", integer}, {"threshold", integer}, {"value", f32_bits}}};
constexpr std::array<AttributeInfo, 2> kRotation{{{"heads", integer}, {"inverse", flag}}};
constexpr std::array<AttributeInfo, 2> kGroups{{{"heads", integer}, {"kv_heads", integer}}};
constexpr std::array<AttributeInfo, 6> kAdamw{{{"beta1", f32_bits},
                                               {"one_minus_beta1", f32_bits},
                                               {"beta2", f32_bits},
                                               {"one_minus_beta2", f32_bits},
                                               {"epsilon", f32_bits},
                                               {"weight_decay", f32_bits}}};

struct Arity {
    std::uint8_t inputs_min;
    std::uint8_t inputs_max;
};

constexpr OpcodeInfo primitive(Opcode code, std::string_view name, Arity arity, Reach reach,
                               std::uint8_t flops = 0,
                               std::span<const AttributeInfo> attributes = {}) {
    return {code, name, false, arity.inputs_min, arity.inputs_max, 1, flops, attributes, reach};
}

constexpr OpcodeInfo macro(Opcode code, std::string_view name, std::uint8_t inputs,
                           std::uint8_t outputs, std::span<const AttributeInfo> attributes = {}) {
    return {code, name, true, inputs, inputs, outputs, 0, attributes, {}};
}

// A block of 1,024 elements that begins anywhere: 4 KiB of f32 or i32 touch at most 5 chunks, 8 KiB
// of i64 at most 9, 2 KiB of i16 at most 3.
constexpr Reach kOne{1, 1};
constexpr Reach kBlock4{1024, 5};
constexpr Reach kBlock8{1024, 9};
constexpr Reach kBlock2{1024, 3};

using enum Opcode;

constexpr std::array kTable{
    primitive(fill, "fill", {0, 0}, {0, 0}, 0, kValue),
    primitive(add, "add", {2, 2}, kOne, 1),
    primitive(sub, "sub", {2, 2}, kOne, 1),
    primitive(mul, "mul", {2, 2}, kOne, 1),
    primitive(div, "div", {2, 2}, kOne, 1),
    primitive(min, "min", {2, 2}, kOne, 1),
    primitive(fma, "fma", {3, 3}, kOne, 2),
    primitive(sqrt, "sqrt", {1, 1}, kOne, 1),
    primitive(rsqrt, "rsqrt", {1, 1}, kOne, 1),
    primitive(exp, "exp", {1, 1}, kOne, 1),
    primitive(log, "log", {1, 1}, kOne, 1),
    primitive(sigmoid, "sigmoid", {1, 1}, kOne, 1),
    primitive(gelu, "gelu", {1, 1}, kOne, 1),
    primitive(silu, "silu", {1, 1}, kOne, 1),
    primitive(less_equal, "less_equal", {2, 2}, kOne, 1),
    primitive(select, "select", {3, 3}, kOne),
    primitive(strided_copy, "strided_copy", {1, 1}, kOne, 0, kStrides),
    primitive(concat, "concat", {1, kOpInputsMax}, kOne),
    primitive(gather_rows, "gather_rows", {2, 2}, kOne),
    primitive(pick, "pick", {2, 2}, kOne),
    primitive(one_hot, "one_hot", {1, 1}, kOne),
    primitive(causal_fill, "causal_fill", {1, 1}, kOne, 0, kValue),
    primitive(random_mask, "random_mask", {1, 1}, {kRandomWords, 1}, 0, kMask),
    primitive(block_max, "block_max", {1, 1}, kBlock4),
    primitive(block_exponent, "block_exponent", {1, 1}, kBlock4),
    primitive(constant_exponent, "constant_exponent", {1, 1}, kBlock4, 0, kExponent),
    primitive(quantise_i32, "quantise_i32", {2, 2}, kOne, 1),
    primitive(quantise_i16, "quantise_i16", {2, 2}, kOne),
    primitive(block_sum, "block_sum", {1, 1}, kBlock8),
    primitive(select_sum, "select_sum", {2, 2}, kBlock4),
    primitive(finish_sum, "finish_sum", {2, 2}, kOne),
    primitive(block_dot, "block_dot", {2, 2}, kBlock2, 2),
    primitive(rescale_dot, "rescale_dot", {5, 5}, kOne),
    primitive(finish_product, "finish_product", {3, 3}, kOne),
    macro(row_sum, "row_sum", 1, 1),
    macro(column_sum, "column_sum", 1, 1),
    macro(sum_squares, "sum_squares", 1, 1),
    macro(matmul, "matmul", 2, 1, kTransposes),
    macro(layernorm, "layernorm", 3, 3, kEpsilon),
    macro(layernorm_grad, "layernorm_grad", 5, 3),
    macro(gelu_grad, "gelu_grad", 2, 1),
    macro(attention, "attention", 1, 3, kHeads),
    macro(attention_grad, "attention_grad", 5, 1, kHeads),
    macro(cross_entropy, "cross_entropy", 2, 3),
    macro(cross_entropy_grad, "cross_entropy_grad", 5, 1),
    macro(embedding_grad, "embedding_grad", 2, 1),
    macro(adamw, "adamw", 8, 3, kAdamw),
    macro(rmsnorm, "rmsnorm", 2, 2, kEpsilon),
    macro(rmsnorm_grad, "rmsnorm_grad", 4, 2),
    macro(rope, "rope", 3, 1, kRotation),
    macro(repeat_heads, "repeat_heads", 1, 1, kGroups),
    macro(repeat_heads_grad, "repeat_heads_grad", 1, 1, kGroups),
    macro(swiglu, "swiglu", 2, 1),
    macro(swiglu_grad, "swiglu_grad", 3, 2),
    OpcodeInfo{sum_tensors, "sum_tensors", true, 2, kOpInputsMax, 1, 0, {}, {}},
    macro(adamw_guarded, "adamw_guarded", 9, 3, kAdamw),
};

constexpr bool table_is_sound() {
    for (std::size_t i = 0; i < kTable.size(); ++i) {
        const OpcodeInfo& op = kTable[i];
        if (i > 0 && kTable[i - 1].code >= op.code) return false;
        if (op.inputs_max > kOpInputsMax || op.outputs > kOpOutputsMax) return false;
        if (op.attributes.size() > kAttributesMax) return false;
        if (op.reach.elements > kBlockElements || op.reach.chunks > kReachChunksMax) return false;
        if (!op.macro && op.outputs != 1) return false;
    }
    return true;
}
static_assert(table_is_sound());

}  // namespace

std::span<const OpcodeInfo> opcode_table() {
    return kTable;
}

const OpcodeInfo* find_opcode(std::uint16_t number) noexcept {
    const auto* found = std::lower_bound(kTable.begin(), kTable.end(), number,
                                         [](const OpcodeInfo& op, std::uint16_t wanted) {
                                             return static_cast<std::uint16_t>(op.code) < wanted;
                                         });
    const bool exists = found != kTable.end() && static_cast<std::uint16_t>(found->code) == number;
    return exists ? found : nullptr;
}

const OpcodeInfo& info(Opcode code) {
    const OpcodeInfo* found = find_opcode(static_cast<std::uint16_t>(code));
    GYM_ASSERT(found != nullptr, "an Opcode outside of the enumeration");
    return *found;
}

std::string_view to_string(Opcode code) {
    return info(code).name;
}

}  // namespace gym::program
