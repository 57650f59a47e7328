#pragma once

// Legal programs of one op each, with random shapes: what tests of "every opcode" iterate over.

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

#include "gym/program/builder.hpp"
#include "gym/program/validate.hpp"

namespace gym::program::testing {

using Rng = std::mt19937_64;

/// From GYM_TEST_SEED, else fixed; printed, so that a failure can be run again.
inline std::uint64_t test_seed() {
    const char* text = std::getenv("GYM_TEST_SEED");
    const std::uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 10) : 20260721;
    std::cout << "GYM_TEST_SEED=" << seed << "\n";
    return seed;
}

/// Multiplies the number of random cases.
inline int test_scale() {
    const char* text = std::getenv("GYM_TEST_SCALE");
    return text != nullptr ? std::max(1, std::atoi(text)) : 1;
}

inline std::uint32_t pick_size(Rng& rng, std::uint32_t min, std::uint32_t max) {
    return std::uniform_int_distribution<std::uint32_t>(min, max)(rng);
}

/// Makes a program of exactly one op.
class Sample {
  public:
    explicit Sample(Rng& rng) : rng_(rng) {}

    [[nodiscard]] ProgramParts make(Opcode code);

  private:
    std::uint32_t size(std::uint32_t min, std::uint32_t max) { return pick_size(rng_, min, max); }
    SlotId in(Dims dims, DType dtype = DType::kF32) {
        parts_.slots.push_back({.name = "in" + std::to_string(op_.inputs.size()),
                                .kind = SlotKind::kInput,
                                .dtype = dtype,
                                .dims = std::move(dims)});
        op_.inputs.push_back(static_cast<SlotId>(parts_.slots.size() - 1));
        return op_.inputs.back();
    }
    SlotId out(Dims dims, DType dtype = DType::kF32) {
        parts_.slots.push_back({.name = {}, .dtype = dtype, .dims = std::move(dims)});
        op_.outputs.push_back(static_cast<SlotId>(parts_.slots.size() - 1));
        return op_.outputs.back();
    }
    /// A row length around the block size now and then.
    std::uint32_t row_length() { return size(0, 3) == 0 ? size(1000, 2100) : size(1, 40); }

    void elementwise(std::size_t inputs);
    void movement(Opcode code);
    void blocks(Opcode code);
    void sums(Opcode code);
    void macros(Opcode code);
    void attention(bool gradient, bool documents);

    Rng& rng_;
    ProgramParts parts_;
    Op op_;
};

inline void Sample::elementwise(std::size_t inputs) {
    const Dims full{size(1, 4), size(1, 5), size(1, 7)};
    for (std::size_t i = 0; i < inputs; ++i) {
        switch (size(0, 4)) {
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

inline void Sample::movement(Opcode code) {
    const std::uint32_t rows = size(1, 6), width = size(1, 9);
    switch (code) {
        case Opcode::kStridedCopy: {
            in({rows, width, 3});
            out({3, rows, width});
            op_.attributes = {0, 1, std::uint64_t{width} * 3, 3};
            break;
        }
        case Opcode::kConcat:
            for (std::uint32_t i = 0, n = size(1, kOpInputsMax); i < n; ++i)
                in({rows, size(1, 9)});
            {
                std::uint32_t total = 0;
                for (const Slot& slot : parts_.slots)
                    total += slot.dims[1];
                out({rows, total});
            }
            break;
        case Opcode::kGatherRows:
            in({size(1, 9), width});
            in({rows}, DType::kI32);
            out({rows, width});
            break;
        case Opcode::kPick:
            in({rows, width});
            in({rows}, DType::kI32);
            out({rows, 1});
            break;
        case Opcode::kOneHot:
            in({rows}, DType::kI32);
            out({rows, width});
            break;
        case Opcode::kRandomMask:
            in({kRandomWords}, DType::kI32);
            out({rows, width});
            op_.attributes = {size(0, 1000), 0x80000000, 0x40000000};
            break;
        default:  // causal_fill
            in({rows, width, width});
            out({rows, width, width});
            op_.attributes[0] = 0xFF800000;  // -inf
            break;
    }
}

inline void Sample::blocks(Opcode code) {
    const std::uint32_t rows = size(1, 4), length = row_length();
    const auto count = static_cast<std::uint32_t>(block_count(length));
    switch (code) {
        case Opcode::kBlockMax: {
            const DType dtype = size(0, 1) == 0 ? DType::kF32 : DType::kI32;
            in({rows, length}, dtype);
            out({rows, count}, dtype);
            break;
        }
        case Opcode::kBlockSum:
            in({rows, length}, size(0, 1) == 0 ? DType::kI32 : DType::kI64);
            out({rows, count}, DType::kI64);
            break;
        case Opcode::kQuantiseI32:
        case Opcode::kQuantiseI16:
            in({rows, length});
            in({rows, size(0, 1) == 0 ? 1 : count}, DType::kI32);
            out({rows, length}, code == Opcode::kQuantiseI32 ? DType::kI32 : DType::kI16);
            break;
        default:  // block_exponent, constant_exponent
            in({rows, length});
            out({rows, count}, DType::kI32);
            break;
    }
}

inline void Sample::sums(Opcode code) {
    const std::uint32_t lead = size(1, 3), m = size(1, 4), n = size(1, 4), length = row_length();
    const auto count = static_cast<std::uint32_t>(block_count(length));
    switch (code) {
        case Opcode::kSelectSum:
            in({m, length}, DType::kI32);
            in({length}, DType::kI32);
            out({n, m, count}, DType::kI64);
            break;
        case Opcode::kFinishSum:
            in({n, m, 1}, DType::kI64);
            in({m, 1}, DType::kI32);
            out({n, m});
            break;
        case Opcode::kBlockDot:
            in({lead, m, length}, DType::kI16);
            in({lead, n, length}, DType::kI16);
            out({lead, m, n, count}, DType::kI64);
            break;
        case Opcode::kRescaleDot:
            in({lead, m, n, count}, DType::kI64);
            in({lead, m, count}, DType::kI32);
            in({lead, m, 1}, DType::kI32);
            in({lead, n, count}, DType::kI32);
            in({lead, n, 1}, DType::kI32);
            out({lead, m, n, count}, DType::kI64);
            break;
        default:  // finish_product
            in({lead, m, n, 1}, DType::kI64);
            in({lead, m, 1}, DType::kI32);
            in({lead, n, 1}, DType::kI32);
            out({lead, m, n});
            break;
    }
}

inline void Sample::attention(bool gradient, bool documents) {
    const std::uint32_t batch = size(1, 2), context = size(1, 6), heads = size(1, 3);
    const std::uint32_t width = heads * size(1, 4), rows = batch * context;
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
    op_.attributes = {context, heads, 0x3F000000, documents ? 0 : size(0, 1)};
}

inline void Sample::macros(Opcode code) {
    const std::uint32_t rows = size(1, 6), width = size(1, 9), n = size(1, 6);
    const Dims full{rows, width}, column{rows, 1};
    switch (code) {
        case Opcode::kRowSum:
            in({rows, 2, width});
            out({rows, 2, 1});
            break;
        case Opcode::kColumnSum:
            in({rows, n, width});
            out({n, width});
            break;
        case Opcode::kSumSquares:
            in({rows, row_length()});
            out({1});
            break;
        case Opcode::kMatmul: {
            const std::uint32_t ta = size(0, 1), tb = size(0, 1), length = row_length();
            in(ta == 1 ? Dims{length, rows} : Dims{rows, length});
            in(tb == 1 ? Dims{length, n} : Dims{n, length});
            out({rows, n});
            op_.attributes = {ta, tb};
            break;
        }
        case Opcode::kLayernorm:
            in(full);
            in({width});
            in({width});
            out(full);
            out(column);
            out(column);
            op_.attributes[0] = 0x3727C5AC;  // 1e-5
            break;
        case Opcode::kLayernormGrad:
            in(full);
            in({width});
            in(column);
            in(column);
            in(full);
            out(full);
            out({width});
            out({width});
            break;
        case Opcode::kGeluGrad:
            in(full);
            in(full);
            out(full);
            break;
        case Opcode::kAttention:
        case Opcode::kAttentionDocuments:
            attention(false, code == Opcode::kAttentionDocuments);
            break;
        case Opcode::kAttentionGrad:
        case Opcode::kAttentionDocumentsGrad:
            attention(true, code == Opcode::kAttentionDocumentsGrad);
            break;
        case Opcode::kCrossEntropy:
            in(full);
            in({rows}, DType::kI32);
            out({1});
            out(column);
            out(column);
            break;
        case Opcode::kCrossEntropyGrad:
            in(full);
            in({rows}, DType::kI32);
            in(column);
            in(column);
            in({1});
            out(full);
            break;
        case Opcode::kEmbeddingGrad:
            in(full);
            in({rows}, DType::kI32);
            out({n, width});
            break;
        case Opcode::kRmsnorm:
            in(full);
            in({width});
            out(full);
            out(column);
            op_.attributes[0] = 0x3727C5AC;  // 1e-5
            break;
        case Opcode::kRmsnormGrad:
            in(full);
            in({width});
            in(column);
            in(full);
            out(full);
            out({width});
            break;
        case Opcode::kRope: {
            const std::uint32_t heads = size(1, 3), half = size(1, 3);
            const Dims table{rows, half}, all{rows * n, 2 * heads * half + size(0, 3)};
            in(all);
            in(table);
            in(table);
            out(all);
            op_.attributes = {heads, size(0, 1)};
            break;
        }
        case Opcode::kRepeatHeads:
        case Opcode::kRepeatHeadsGrad: {
            const std::uint32_t kv = size(1, 3), heads = kv * size(1, 3);
            const Dims few{rows, (heads + 2 * kv) * width}, many{rows, 3 * heads * width};
            in(code == Opcode::kRepeatHeads ? few : many);
            out(code == Opcode::kRepeatHeads ? many : few);
            op_.attributes = {heads, kv};
            break;
        }
        case Opcode::kSumTensors:
            for (std::uint32_t i = 0, parts = size(2, kOpInputsMax); i < parts; ++i)
                in(full);
            out(full);
            break;
        case Opcode::kSwiglu:
            in(full);
            in(full);
            out(full);
            break;
        case Opcode::kSwigluGrad:
            for (int i = 0; i < 3; ++i)
                in(full);
            out(full);
            out(full);
            break;
        default:  // adamw, adamw_guarded
            for (int i = 0; i < 4; ++i)
                in(full);
            for (int i = 4; i < info(code).inputs_min; ++i)
                in({1});
            for (int i = 0; i < 3; ++i)
                out(full);
            op_.attributes = {0x3F666666, 0x3DCCCCD0, 0x3F733333,
                              0x3D4CCCD0, 0x322BCC77, 0x3DCCCCCD};
            break;
    }
}

inline ProgramParts Sample::make(Opcode code) {
    op_.code = code;
    const auto number = static_cast<std::uint16_t>(code);
    if (code == Opcode::kFill) op_.attributes[0] = 0x40490FDB;
    if (number < static_cast<std::uint16_t>(Opcode::kStridedCopy))
        elementwise(info(code).inputs_min);
    else if (number < static_cast<std::uint16_t>(Opcode::kBlockMax))
        movement(code);
    else if (number < static_cast<std::uint16_t>(Opcode::kSelectSum))
        blocks(code);
    else if (!info(code).macro)
        sums(code);
    else
        macros(code);
    parts_.ops = {op_};
    return parts_;
}

inline ProgramParts sample(Rng& rng, Opcode code) {
    return Sample(rng).make(code);
}

}  // namespace gym::program::testing
