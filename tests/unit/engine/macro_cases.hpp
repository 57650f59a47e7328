#pragma once

// Programs of a single op with random shapes, for comparing fused kernels with definitions.

#include "gym/engine/reference.hpp"
#include "gym/program/builder.hpp"
#include "random_tensors.hpp"

namespace gym::engine::testing {

using program::Dims;
using program::Opcode;
using program::Program;
using program::SlotId;

/// Writes one op; `make()` is random in everything the op leaves open.
class MacroCase {
  public:
    MacroCase(Rng& rng, Opcode code) : rng_(rng) { op_.code = code; }

    Result<Program> make() {
        if (!program::info(op_.code).macro)
            elementwise();
        else
            macro();
        builder_.append(op_);
        int index = 0;
        for (const SlotId id : op_.outputs)
            builder_.output("out" + std::to_string(index++), id);
        return builder_.build();
    }

  private:
    std::uint32_t size(std::uint32_t min, std::uint32_t max) { return between(rng_, min, max); }
    /// Row lengths: mostly around vector widths, now and then several blocks.
    std::uint32_t length() { return size(0, 3) == 0 ? size(900, 2500) : size(1, 70); }

    void in(Dims dims, program::DType dtype = program::DType::kF32) {
        const std::string name = "in" + std::to_string(op_.inputs.size());
        op_.inputs.push_back(builder_.input(name, dtype, std::move(dims)));
    }
    void out(Dims dims) {
        op_.outputs.push_back(builder_.temp(program::DType::kF32, std::move(dims)));
    }
    void constant(std::size_t index, float value) {
        op_.attributes[index] = std::bit_cast<std::uint32_t>(value);
    }

    void random_mask() {
        in({program::kRandomWords}, program::DType::kI32);
        out({size(1, 40), length()});
        op_.attributes = {size(0, 1) == 0 ? (1U << 23) + size(0, 9) : size(0, 9),
                          std::uint64_t{size(0, 16)} * 0x0FFFFFFF};
        constant(2, 1.25F);
    }
    void elementwise() {
        if (op_.code == Opcode::kRandomMask) return random_mask();
        const Dims full{size(1, 5), size(1, 40), size(1, 70)};
        for (int i = 0; i < program::info(op_.code).inputs_min; ++i) {
            switch (size(0, 6)) {
                case 0:
                    in({1});
                    break;
                case 1:
                    in({full[0], full[1], 1});
                    break;
                case 2:
                    in({full[2]});
                    break;
                case 3:
                    in({full[1], full[2]});
                    break;
                default:
                    in(full);
                    break;
            }
        }
        out(full);
    }
    void matmul() {
        const std::uint32_t m = size(1, 40), n = size(1, 40), k = length();
        const std::uint32_t ta = size(0, 1), tb = size(0, 1);
        in(ta == 1 ? Dims{k, m} : Dims{m, k});
        in(tb == 1 ? Dims{k, n} : Dims{n, k});
        out({m, n});
        op_.attributes = {ta, tb};
    }
    void attention(bool gradient, bool documents) {
        const std::uint32_t batch = size(1, 2), heads = size(1, 3), head = size(1, 20);
        const std::uint32_t context = size(0, 9) == 0 ? size(1020, 1030) / size(1, 4) : size(1, 40);
        const std::uint32_t width = heads * head, rows = batch * context;
        const Dims row{batch, heads, context, 1};
        in({rows, 3 * width});
        if (gradient) {
            in({rows, width});
            in(row);
            in(row);
            in({rows, width});
            out({rows, 3 * width});
        } else {
            out({rows, width});
            out(row);
            out(row);
        }
        if (documents) in({rows, 1});
        op_.attributes = {context, heads, 0, documents ? 0 : size(0, 1)};
        constant(2, 0.35355339F);
    }
    void rope() {
        const std::uint32_t context = size(1, 12), half = size(1, 20), heads = size(1, 4);
        const Dims table{context, half};
        const Dims x{context * size(1, 3), 2 * half * heads + size(0, 1) * size(1, 40)};
        in(x), in(table), in(table);
        out(x);
        op_.attributes = {heads, size(0, 1)};
    }
    void repeat_heads() {
        const std::uint32_t rows = size(1, 20), head = size(1, 40), kv = size(1, 3);
        const std::uint32_t heads = kv * size(1, 4);
        const Dims few{rows, (heads + 2 * kv) * head}, many{rows, 3 * heads * head};
        const bool forward = op_.code == Opcode::kRepeatHeads;
        in(forward ? few : many);
        out(forward ? many : few);
        op_.attributes = {heads, kv};
    }
    void macro();

    Rng& rng_;
    program::Builder builder_;
    program::Op op_;
};

inline void MacroCase::macro() {
    const std::uint32_t rows = size(1, 30), width = length(), ids = size(1, 300);
    const Dims full{rows, width}, column{rows, 1};
    const auto i32 = program::DType::kI32;
    switch (op_.code) {
        case Opcode::kRowSum:
            in({rows, 2, width});
            out({rows, 2, 1});
            break;
        case Opcode::kColumnSum:
            in({length(), 2, rows});
            out({2, rows});
            break;
        case Opcode::kSumSquares:
            in({rows, width});
            out({1});
            break;
        case Opcode::kMatmul:
            matmul();
            break;
        case Opcode::kLayernorm:
            in(full), in({width}), in({width});
            out(full), out(column), out(column);
            constant(0, 1e-5F);
            break;
        case Opcode::kLayernormGrad:
            in(full), in({width}), in(column), in(column), in(full);
            out(full), out({width}), out({width});
            break;
        case Opcode::kGeluGrad:
            in(full), in(full), out(full);
            break;
        case Opcode::kAttention:
        case Opcode::kAttentionDocuments:
            attention(false, op_.code == Opcode::kAttentionDocuments);
            break;
        case Opcode::kAttentionGrad:
        case Opcode::kAttentionDocumentsGrad:
            attention(true, op_.code == Opcode::kAttentionDocumentsGrad);
            break;
        case Opcode::kCrossEntropy:
            in(full), in({rows}, i32);
            out({1}), out(column), out(column);
            break;
        case Opcode::kCrossEntropyGrad:
            in(full), in({rows}, i32), in(column), in(column), in({1});
            out(full);
            break;
        case Opcode::kEmbeddingGrad: {
            const std::uint32_t tokens = length(), values = size(1, 70);
            in({tokens, values}), in({tokens}, i32);
            out({ids, values});
            break;
        }
        case Opcode::kRmsnorm:
            in(full), in({width});
            out(full), out(column);
            constant(0, 1e-5F);
            break;
        case Opcode::kRmsnormGrad:
            in(full), in({width}), in(column), in(full);
            out(full), out({width});
            break;
        case Opcode::kRope:
            rope();
            break;
        case Opcode::kRepeatHeads:
        case Opcode::kRepeatHeadsGrad:
            repeat_heads();
            break;
        case Opcode::kSwiglu:
            in(full), in(full), out(full);
            break;
        case Opcode::kSwigluGrad:
            in(full), in(full), in(full);
            out(full), out(full);
            break;
        case Opcode::kSumTensors:
            for (std::uint32_t i = size(2, program::kOpInputsMax); i > 0; --i)
                in(full);
            out(full);
            break;
        default:  // adamw, adamw_guarded
            for (int i = 0; i < 4; ++i)
                in(full);
            for (int i = 4; i < program::info(op_.code).inputs_min; ++i)
                in({1});
            for (int i = 0; i < 3; ++i)
                out(full);
            constant(0, 0.9F), constant(1, 0.1F), constant(2, 0.95F), constant(3, 0.05F);
            constant(4, 1e-8F), constant(5, 0.1F);
            break;
    }
}

/// Of attention within documents, mostly: numbers such as a model has, in the place of any.
inline void number_documents(Rng& rng, const Program& program, const SlotPointers& memory) {
    const program::Op& op = program.ops()[0];
    const bool documents =
        op.code == Opcode::kAttentionDocuments || op.code == Opcode::kAttentionDocumentsGrad;
    if (!documents || rng() % 4 == 0) return;
    const SlotId slot = op.inputs.back();
    auto* numbers = reinterpret_cast<float*>(memory[slot]);
    const std::uint64_t rows = program.slot(slot).dims[0], length = between(rng, 1, 12);
    float number = 0;
    for (std::uint64_t i = 0; i < rows; ++i) {
        if (i % op.attributes[0] == 0) number = 0;
        numbers[i] = number;
        if (rng() % length == 0) ++number;
    }
}

}  // namespace gym::engine::testing
