// tests/vectors/conformance/macros.json: every op of docs/MACROS.md, and the primitives that no
// macro is made of, over small operands.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "gym/dispute/trace_program.hpp"
#include "gym/engine/engine.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/expand.hpp"
#include "vector_file.hpp"

namespace gym::conformance {
namespace {

namespace json = boost::json;
using program::Dims;
using program::DType;
using program::Op;
using program::Opcode;
using program::Program;
using program::Slot;
using program::SlotId;
using program::SlotKind;

struct Operand {
    Dims dims;
    std::uint32_t indices_below = 0;  ///< 0: f32
};

struct Case {
    std::string name;
    Opcode code;
    std::vector<Operand> inputs;
    std::vector<Dims> outputs;
    std::array<std::uint64_t, program::kAttributesMax> attributes{};
    bool special = false;  ///< some of the operands are NaN, infinite, zero or subnormal
};

constexpr std::uint64_t kEpsilon = 0x3727C5AC, kHalf = 0x3F000000;
constexpr std::array<std::uint64_t, program::kAttributesMax> kAdamw{
    0x3F666666, 0x3DCCCCD0, 0x3F733333, 0x3D4CCCD0, 0x322BCC77, 0x3DCCCCCD};

std::vector<Case> sums_and_products() {
    return {
        {"row_sum", Opcode::kRowSum, {{{2, 3, 4}}}, {{2, 3, 1}}},
        {"row_sum.special", Opcode::kRowSum, {{{5, 3}}}, {{5, 1}}, {}, true},
        {"row_sum.blocks", Opcode::kRowSum, {{{1, 1027}}}, {{1, 1}}},
        {"column_sum", Opcode::kColumnSum, {{{3, 2, 4}}}, {{2, 4}}},
        {"sum_squares", Opcode::kSumSquares, {{{3, 5}}}, {{1}}},
        {"sum_tensors", Opcode::kSumTensors, {{{2, 3}}, {{2, 3}}, {{2, 3}}}, {{2, 3}}},
        {"matmul", Opcode::kMatmul, {{{3, 4}}, {{2, 4}}}, {{3, 2}}},
        {"matmul.special", Opcode::kMatmul, {{{3, 3}}, {{4, 3}}}, {{3, 4}}, {}, true},
        {"matmul.a", Opcode::kMatmul, {{{4, 3}}, {{2, 4}}}, {{3, 2}}, {1, 0}},
        {"matmul.b", Opcode::kMatmul, {{{3, 4}}, {{4, 2}}}, {{3, 2}}, {0, 1}},
        {"matmul.ab", Opcode::kMatmul, {{{4, 3}}, {{4, 2}}}, {{3, 2}}, {1, 1}},
        {"matmul.blocks", Opcode::kMatmul, {{{1, 1026}}, {{1, 1026}}}, {{1, 1}}},
    };
}

std::vector<Case> norms_and_activations() {
    return {
        {"layernorm",
         Opcode::kLayernorm,
         {{{3, 4}}, {{4}}, {{4}}},
         {{3, 4}, {3, 1}, {3, 1}},
         {kEpsilon}},
        {"layernorm_grad",
         Opcode::kLayernormGrad,
         {{{3, 4}}, {{4}}, {{3, 1}}, {{3, 1}}, {{3, 4}}},
         {{3, 4}, {4}, {4}}},
        {"rmsnorm", Opcode::kRmsnorm, {{{3, 4}}, {{4}}}, {{3, 4}, {3, 1}}, {kEpsilon}},
        {"rmsnorm_grad",
         Opcode::kRmsnormGrad,
         {{{3, 4}}, {{4}}, {{3, 1}}, {{3, 4}}},
         {{3, 4}, {4}}},
        {"gelu_grad", Opcode::kGeluGrad, {{{4, 6}}, {{4, 6}}}, {{4, 6}}, {}, true},
        {"swiglu", Opcode::kSwiglu, {{{4, 6}}, {{4, 6}}}, {{4, 6}}, {}, true},
        {"swiglu_grad", Opcode::kSwigluGrad, {{{3, 4}}, {{3, 4}}, {{3, 4}}}, {{3, 4}, {3, 4}}},
    };
}

std::vector<Case> attention_and_heads() {
    const Dims qkv{6, 24}, values{6, 8}, rows{2, 2, 3, 1};
    return {
        {"attention", Opcode::kAttention, {{qkv}}, {values, rows, rows}, {3, 2, kHalf}},
        {"attention_grad",
         Opcode::kAttentionGrad,
         {{qkv}, {values}, {rows}, {rows}, {values}},
         {qkv},
         {3, 2, kHalf}},
        {"rope", Opcode::kRope, {{{4, 8}}, {{2, 2}}, {{2, 2}}}, {{4, 8}}, {2, 0}},
        {"rope.inverse", Opcode::kRope, {{{4, 8}}, {{2, 2}}, {{2, 2}}}, {{4, 8}}, {2, 1}},
        {"rope.part", Opcode::kRope, {{{4, 11}}, {{2, 2}}, {{2, 2}}}, {{4, 11}}, {2, 0}},
        {"repeat_heads", Opcode::kRepeatHeads, {{{2, 16}}}, {{2, 24}}, {4, 2}},
        {"repeat_heads_grad", Opcode::kRepeatHeadsGrad, {{{2, 24}}}, {{2, 16}}, {4, 2}},
    };
}

std::vector<Case> loss_and_optimizer() {
    const Dims table{3, 4};
    std::vector<Operand> adamw(4, Operand{table});
    adamw.insert(adamw.end(), 4, Operand{{1}});
    std::vector<Operand> guarded = adamw;
    guarded.push_back({{1}});
    std::vector<Operand> small(8, Operand{{1}});
    return {
        {"cross_entropy", Opcode::kCrossEntropy, {{{3, 5}}, {{3}, 5}}, {{1}, {3, 1}, {3, 1}}},
        {"cross_entropy_grad",
         Opcode::kCrossEntropyGrad,
         {{{3, 5}}, {{3}, 5}, {{3, 1}}, {{3, 1}}, {{1}}},
         {{3, 5}}},
        {"embedding_grad", Opcode::kEmbeddingGrad, {{{5, 3}}, {{5}, 4}}, {{4, 3}}},
        {"adamw", Opcode::kAdamw, adamw, {table, table, table}, kAdamw},
        {"adamw.one", Opcode::kAdamw, small, {{1}, {1}, {1}}, kAdamw},
        {"adamw_guarded", Opcode::kAdamwGuarded, guarded, {table, table, table}, kAdamw},
    };
}

std::vector<Case> primitives() {
    return {
        {"exp", Opcode::kExp, {{{32}}}, {{32}}, {}, true},
        {"log", Opcode::kLog, {{{32}}}, {{32}}, {}, true},
        {"gelu", Opcode::kGelu, {{{32}}}, {{32}}, {}, true},
        {"silu", Opcode::kSilu, {{{32}}}, {{32}}, {}, true},
        {"sigmoid", Opcode::kSigmoid, {{{32}}}, {{32}}, {}, true},
        {"rsqrt", Opcode::kRsqrt, {{{32}}}, {{32}}, {}, true},
        {"min", Opcode::kMin, {{{4, 8}}, {{8}}}, {{4, 8}}, {}, true},
        {"fma.broadcast",
         Opcode::kFma,
         {{{2, 3, 4}}, {{2, 3, 1}}, {{3, 4}}},
         {{2, 3, 4}},
         {},
         true},
        {"less_equal", Opcode::kLessEqual, {{{16}}, {{16}}}, {{16}}, {}, true},
        {"gather_rows", Opcode::kGatherRows, {{{3, 2}}, {{4}, 7}}, {{4, 2}}},
        {"random_mask",
         Opcode::kRandomMask,
         {{{5}, 1U << 30}},
         {{2, 5}},
         {9, 0x80000000, 0x40000000}},
    };
}

/// After all others: the operands of a case follow from its number.
std::vector<Case> bidirectional() {
    const Dims qkv{6, 24}, values{6, 8}, rows{2, 2, 3, 1};
    return {
        {"attention.all", Opcode::kAttention, {{qkv}}, {values, rows, rows}, {3, 2, kHalf, 1}},
        {"attention_grad.all",
         Opcode::kAttentionGrad,
         {{qkv}, {values}, {rows}, {rows}, {values}},
         {qkv},
         {3, 2, kHalf, 1}},
    };
}

std::vector<Case> documents() {
    const Dims qkv{6, 24}, values{6, 8}, rows{2, 2, 3, 1}, numbers{6, 1};
    return {
        {"attention_documents",
         Opcode::kAttentionDocuments,
         {{qkv}, {numbers}},
         {values, rows, rows},
         {3, 2, kHalf}},
        {"attention_documents.special",
         Opcode::kAttentionDocuments,
         {{qkv}, {numbers}},
         {values, rows, rows},
         {3, 2, kHalf},
         true},
        {"attention_documents_grad",
         Opcode::kAttentionDocumentsGrad,
         {{qkv}, {values}, {rows}, {rows}, {values}, {numbers}},
         {qkv},
         {3, 2, kHalf}},
    };
}

std::vector<Case> all_cases() {
    std::vector<Case> cases;
    for (auto* part : {sums_and_products, norms_and_activations, attention_and_heads,
                       loss_and_optimizer, primitives, bidirectional, documents})
        for (Case& one : part())
            cases.push_back(std::move(one));
    return cases;
}

Program program_of(const Case& one) {
    program::ProgramParts parts;
    Op op{one.code, {}, {}, one.attributes};
    for (const Operand& input : one.inputs) {
        op.inputs.push_back(static_cast<SlotId>(parts.slots.size()));
        parts.slots.push_back({.name = "in" + std::to_string(parts.slots.size()),
                               .kind = SlotKind::kInput,
                               .dtype = input.indices_below == 0 ? DType::kF32 : DType::kI32,
                               .dims = input.dims});
    }
    for (const Dims& dims : one.outputs) {
        const auto slot = static_cast<SlotId>(parts.slots.size());
        op.outputs.push_back(slot);
        parts.outputs.push_back({"out" + std::to_string(parts.outputs.size()), slot});
        parts.slots.push_back({.name = {}, .kind = SlotKind::kTemp, .dims = dims});
    }
    parts.ops = {op};
    auto program = Program::create(std::move(parts));
    EXPECT_TRUE(program.ok()) << one.name << ": " << (program.ok() ? "" : program.error().message);
    return std::move(program).value();
}

constexpr std::string_view dtype_name(DType dtype) {
    constexpr std::string_view kNames[] = {"", "f32", "i32", "i64", "i16", "u8", "u16", "u32"};
    return kNames[static_cast<std::size_t>(dtype)];
}

json::array dims_of(const Dims& dims) {
    return json::array(dims.begin(), dims.end());
}

/// "mul(i0,p3) f32[2,4] attributes": i is an input of the op, p a primitive.
json::array expansion_of(const Program& program) {
    const program::Expansion expansion =
        expand(program.slots(), program.ops()[0], static_cast<SlotId>(program.slots().size()));
    std::map<SlotId, std::string> names;
    for (std::size_t i = 0; i < program.ops()[0].inputs.size(); ++i)
        names[program.ops()[0].inputs[i]] = "i" + std::to_string(i);
    json::array lines;
    for (std::size_t number = 0; number < expansion.ops.size(); ++number) {
        const Op& op = expansion.ops[number];
        std::string line = std::string(to_string(op.code)) + "(";
        for (const SlotId id : op.inputs)
            line += (line.back() == '(' ? "" : ",") + names.at(id);
        const SlotId out = op.outputs[0];
        const Slot& slot = out >= expansion.first_temp ? expansion.temps[out - expansion.first_temp]
                                                       : program.slot(out);
        line += ") " + std::string(dtype_name(slot.dtype)) + "[";
        for (const std::uint32_t dim : slot.dims)
            line += (line.back() == '[' ? "" : ",") + std::to_string(dim);
        line += "]";
        std::size_t used = op.attributes.size();
        while (used > 0 && op.attributes[used - 1] == 0)
            --used;
        for (std::size_t i = 0; i < used; ++i)
            line += (i == 0 ? " " : ",") + std::to_string(op.attributes[i]);
        lines.emplace_back(line);
        names[out] = "p" + std::to_string(number);
    }
    return lines;
}

json::object vector_of(const Case& one, std::uint64_t seed) {
    const Program program = program_of(one);
    Pattern pattern(seed);
    json::array inputs, outputs;
    std::vector<Bytes> operands;
    for (const Operand& input : one.inputs) {
        const std::uint64_t count = program::element_count(input.dims);
        operands.push_back(input.indices_below == 0 ? pattern.floats(count, one.special)
                                                    : pattern.indices(count, input.indices_below));
    }
    std::vector<engine::NamedTensorView> views;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < operands.size(); ++i)
        names.push_back("in" + std::to_string(i));
    for (std::size_t i = 0; i < operands.size(); ++i) {
        views.push_back({names[i], operands[i]});
        inputs.emplace_back(
            json::object{{"dtype", dtype_name(program.slot(static_cast<SlotId>(i)).dtype)},
                         {"dims", dims_of(one.inputs[i].dims)},
                         {"data", to_hex(operands[i])}});
    }
    auto engine = engine::Engine::create(program);
    engine::State none;
    EXPECT_TRUE(engine.ok() && engine->run(none, views).ok()) << one.name;
    for (std::size_t i = 0; i < one.outputs.size(); ++i)
        outputs.emplace_back(
            json::object{{"dims", dims_of(one.outputs[i])},
                         {"data", to_hex(engine->output("out" + std::to_string(i)).value())}});
    std::size_t used = one.attributes.size();
    while (used > 0 && one.attributes[used - 1] == 0)
        --used;
    return {
        {"name", one.name},
        {"op", to_string(one.code)},
        {"attributes", json::array(one.attributes.begin(), one.attributes.begin() + used)},
        {"inputs", inputs},
        {"outputs", outputs},
        {"expansion", expansion_of(program)},
        {"flops", program::flops_per_step(program)},
        {"program_root", program::program_root(program).hex()},
        {"trace_root", dispute::trace_root(dispute::trace_program(program).value().header).hex()}};
}

TEST(ConformanceVectors, EveryOpIsACaseOrAPartOfOne) {
    std::set<Opcode> seen;
    for (const Case& one : all_cases()) {
        const Program program = program_of(one);
        seen.insert(one.code);
        const Program expanded = expand(program).value();
        for (const Op& op : expanded.ops())
            seen.insert(op.code);
    }
    for (const program::OpcodeInfo& op : program::opcode_table())
        EXPECT_TRUE(seen.contains(op.code)) << op.name;
}

TEST(ConformanceVectors, OfMacrosAreWhatTheEngineComputes) {
    json::array cases;
    for (const Case& one : all_cases())
        cases.push_back(vector_of(one, 20261123 + cases.size()));
    expect_committed("macros", {{"cases", cases}});
}

}  // namespace
}  // namespace gym::conformance
