#pragma once

#include <cstdint>
#include <cstring>

#include "program_samples.hpp"
#include "random_tensors.hpp"

namespace gym::testing {

using program::Opcode;
using Rng = std::mt19937_64;

/// A legal op with its attributes varied, too.
inline program::ProgramParts varied_sample(Rng& rng, Opcode code) {
    program::ProgramParts parts = program::testing::sample(rng, code);
    program::Op& op = parts.ops[0];
    const auto any_value = [&] {
        return std::uint64_t{std::bit_cast<std::uint32_t>(engine::testing::edge_value(rng))};
    };
    switch (code) {
        case Opcode::kFill:
        case Opcode::kCausalFill:
            op.attributes[0] = any_value();
            break;
        case Opcode::kRandomMask:
            op.attributes = {rng() % (1U << 24), rng() & 0xFFFFFFFF, any_value()};
            break;
        case Opcode::kConstantExponent:
            op.attributes[0] = rng() % 3 == 0 ? rng() % 128 : rng() % 3;
            break;
        case Opcode::kStridedCopy: {
            // A part of the input, somewhere in it, read with its strides in another order.
            const auto dtype = static_cast<program::DType>(1 + rng() % 7);
            const std::uint32_t spare = 1 + static_cast<std::uint32_t>(rng() % 50);
            program::Slot& x = parts.slots[op.inputs[0]];
            x.dtype = parts.slots[op.outputs[0]].dtype = dtype;
            x.dims = {static_cast<std::uint32_t>(program::element_count(x.dims)) + spare};
            op.attributes[0] = rng() % (spare + 1);
            break;
        }
        case Opcode::kConcat: {
            const auto dtype = static_cast<program::DType>(1 + rng() % 7);
            for (program::Slot& slot : parts.slots)
                slot.dtype = dtype;
            break;
        }
        default:
            break;
    }
    return parts;
}

/// An exponent as rowexp gives it, poisoned now and then, or any: a program may feed what it likes.
inline std::int32_t exponent_value(Rng& rng) {
    switch (rng() % 10) {
        case 8:
            return static_cast<std::int32_t>(rng());
        case 9:
            return rng() % 2 == 0 ? INT32_MIN : INT32_MAX;
        case 0:
            return 129;
        case 1:
            return static_cast<std::int32_t>(rng() % 2000) - 1000;
        case 2:
            return -100;
        default:
            return static_cast<std::int32_t>(rng() % 60) - 30;
    }
}

inline std::int64_t i64_value(Rng& rng) {
    const auto magnitude = static_cast<std::int64_t>(rng() >> (1 + rng() % 63));
    return rng() % 2 == 0 ? magnitude : -magnitude;
}

/// A sum of a block's products, |S| <= 2^36: large, or halfway between two results; or any.
inline std::int64_t dot_value(Rng& rng) {
    if (rng() % 16 == 0) return i64_value(rng);
    const auto large = static_cast<std::int64_t>(rng() >> 28);
    const auto halfway = static_cast<std::int64_t>(rng() % 32) << rng() % 32;
    const std::int64_t magnitude = rng() % 2 == 0 ? large : halfway;
    return rng() % 2 == 0 ? magnitude : -magnitude;
}

/// The values of a small index tensor: mostly in range.
inline std::int32_t small_index(Rng& rng) {
    const std::uint64_t word = rng();
    return word % 10 == 0 ? static_cast<std::int32_t>(word >> 32)
                          : static_cast<std::int32_t>(word >> 32) % 8 + 1;
}

inline std::int32_t i32_value(Rng& rng, Opcode code, std::size_t operand) {
    switch (code) {
        case Opcode::kQuantiseI32:
        case Opcode::kQuantiseI16:
        case Opcode::kFinishSum:
        case Opcode::kFinishProduct:
            return exponent_value(rng);
        case Opcode::kRescaleDot:  // a block's exponent is at most its row's, in honest programs
            if (rng() % 16 == 0) return exponent_value(rng);
            return static_cast<std::int32_t>(rng() % 14) + (operand % 2 == 0 ? 22 : 0);
        case Opcode::kGatherRows:
        case Opcode::kPick:
        case Opcode::kOneHot:
            return small_index(rng);
        case Opcode::kSelectSum:
            return operand == 1 ? small_index(rng) : static_cast<std::int32_t>(rng());
        default:
            return static_cast<std::int32_t>(rng());
    }
}

/// Fills operand number `operand` of the op.
inline void fill_operand(Rng& rng, const program::ProgramParts& parts, std::size_t operand,
                         std::uint8_t* bytes) {
    const program::Op& op = parts.ops[0];
    const program::Slot& slot = parts.slots[op.inputs[operand]];
    const std::size_t size = commit::size_bytes(slot.dtype);
    const auto fill = static_cast<engine::testing::Fill>(rng() % engine::testing::kFills);
    for (std::uint64_t i = 0; i < program::element_count(slot.dims); ++i, bytes += size) {
        const auto put = [&](auto value) { std::memcpy(bytes, &value, sizeof value); };
        const std::uint64_t word = rng();
        if (slot.dtype == program::DType::kF32)
            put(engine::testing::value_of(rng, fill));
        else if (slot.dtype == program::DType::kI32)
            put(i32_value(rng, op.code, operand));
        else if (slot.dtype == program::DType::kI64)
            put(op.code == Opcode::kRescaleDot ? dot_value(rng) : i64_value(rng));
        else
            std::memcpy(bytes, &word, size);
    }
}

}  // namespace gym::testing
