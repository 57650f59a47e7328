#include "gym/program/opcode.hpp"

#include <algorithm>
#include <array>

#include "gym/common/assert.hpp"

namespace gym::program {
namespace {

using enum AttributeKind;

constexpr std::array<AttributeInfo, 1> kValue{{{"value", kF32Bits}}};
constexpr std::array<AttributeInfo, 6> kStrides{{{"offset", kInteger},
                                                 {"stride0", kInteger},
                                                 {"stride1", kInteger},
                                                 {"stride2", kInteger},
                                                 {"stride3", kInteger},
                                                 {"stride4", kInteger}}};
constexpr std::array<AttributeInfo, 1> kExponent{{{"exponent", kInteger}}};
constexpr std::array<AttributeInfo, 2> kTransposes{
    {{"transpose_a", kFlag}, {"transpose_b", kFlag}}};
constexpr std::array<AttributeInfo, 1> kEpsilon{{{"epsilon", kF32Bits}}};
constexpr std::array<AttributeInfo, 4> kHeads{
    {{"context", kInteger}, {"heads", kInteger}, {"scale", kF32Bits}, {"bidirectional", kFlag}}};
constexpr std::array<AttributeInfo, 3> kCausalHeads{
    {{"context", kInteger}, {"heads", kInteger}, {"scale", kF32Bits}}};
constexpr std::array<AttributeInfo, 3> kMask{
    {{"op", kInteger}, {"threshold", kInteger}, {"value", kF32Bits}}};
constexpr std::array<AttributeInfo, 2> kRotation{{{"heads", kInteger}, {"inverse", kFlag}}};
constexpr std::array<AttributeInfo, 2> kGroups{{{"heads", kInteger}, {"kv_heads", kInteger}}};
constexpr std::array<AttributeInfo, 6> kAdamwAttributes{{{"beta1", kF32Bits},
                                                         {"one_minus_beta1", kF32Bits},
                                                         {"beta2", kF32Bits},
                                                         {"one_minus_beta2", kF32Bits},
                                                         {"epsilon", kF32Bits},
                                                         {"weight_decay", kF32Bits}}};

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
    primitive(kFill, "fill", {0, 0}, {0, 0}, 0, kValue),
    primitive(kAdd, "add", {2, 2}, kOne, 1),
    primitive(kSub, "sub", {2, 2}, kOne, 1),
    primitive(kMul, "mul", {2, 2}, kOne, 1),
    primitive(kDiv, "div", {2, 2}, kOne, 1),
    primitive(kMin, "min", {2, 2}, kOne, 1),
    primitive(kFma, "fma", {3, 3}, kOne, 2),
    primitive(kSqrt, "sqrt", {1, 1}, kOne, 1),
    primitive(kRsqrt, "rsqrt", {1, 1}, kOne, 1),
    primitive(kExp, "exp", {1, 1}, kOne, 1),
    primitive(kLog, "log", {1, 1}, kOne, 1),
    primitive(kSigmoid, "sigmoid", {1, 1}, kOne, 1),
    primitive(kGelu, "gelu", {1, 1}, kOne, 1),
    primitive(kSilu, "silu", {1, 1}, kOne, 1),
    primitive(kLessEqual, "less_equal", {2, 2}, kOne, 1),
    primitive(kSelect, "select", {3, 3}, kOne),
    primitive(kStridedCopy, "strided_copy", {1, 1}, kOne, 0, kStrides),
    primitive(kConcat, "concat", {1, kOpInputsMax}, kOne),
    primitive(kGatherRows, "gather_rows", {2, 2}, kOne),
    primitive(kPick, "pick", {2, 2}, kOne),
    primitive(kOneHot, "one_hot", {1, 1}, kOne),
    primitive(kCausalFill, "causal_fill", {1, 1}, kOne, 0, kValue),
    primitive(kRandomMask, "random_mask", {1, 1}, {kRandomWords, 1}, 0, kMask),
    primitive(kBlockMax, "block_max", {1, 1}, kBlock4),
    primitive(kBlockExponent, "block_exponent", {1, 1}, kBlock4),
    primitive(kConstantExponent, "constant_exponent", {1, 1}, kBlock4, 0, kExponent),
    primitive(kQuantiseI32, "quantise_i32", {2, 2}, kOne, 1),
    primitive(kQuantiseI16, "quantise_i16", {2, 2}, kOne),
    primitive(kBlockSum, "block_sum", {1, 1}, kBlock8),
    primitive(kSelectSum, "select_sum", {2, 2}, kBlock4),
    primitive(kFinishSum, "finish_sum", {2, 2}, kOne),
    primitive(kBlockDot, "block_dot", {2, 2}, kBlock2, 2),
    primitive(kRescaleDot, "rescale_dot", {5, 5}, kOne),
    primitive(kFinishProduct, "finish_product", {3, 3}, kOne),
    macro(kRowSum, "row_sum", 1, 1),
    macro(kColumnSum, "column_sum", 1, 1),
    macro(kSumSquares, "sum_squares", 1, 1),
    macro(kMatmul, "matmul", 2, 1, kTransposes),
    macro(kLayernorm, "layernorm", 3, 3, kEpsilon),
    macro(kLayernormGrad, "layernorm_grad", 5, 3),
    macro(kGeluGrad, "gelu_grad", 2, 1),
    macro(kAttention, "attention", 1, 3, kHeads),
    macro(kAttentionGrad, "attention_grad", 5, 1, kHeads),
    macro(kCrossEntropy, "cross_entropy", 2, 3),
    macro(kCrossEntropyGrad, "cross_entropy_grad", 5, 1),
    macro(kEmbeddingGrad, "embedding_grad", 2, 1),
    macro(kAdamw, "adamw", 8, 3, kAdamwAttributes),
    macro(kRmsnorm, "rmsnorm", 2, 2, kEpsilon),
    macro(kRmsnormGrad, "rmsnorm_grad", 4, 2),
    macro(kRope, "rope", 3, 1, kRotation),
    macro(kRepeatHeads, "repeat_heads", 1, 1, kGroups),
    macro(kRepeatHeadsGrad, "repeat_heads_grad", 1, 1, kGroups),
    macro(kSwiglu, "swiglu", 2, 1),
    macro(kSwigluGrad, "swiglu_grad", 3, 2),
    OpcodeInfo{kSumTensors, "sum_tensors", true, 2, kOpInputsMax, 1, 0, {}, {}},
    macro(kAdamwGuarded, "adamw_guarded", 9, 3, kAdamwAttributes),
    macro(kAttentionDocuments, "attention_documents", 2, 3, kCausalHeads),
    macro(kAttentionDocumentsGrad, "attention_documents_grad", 6, 1, kCausalHeads),
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
