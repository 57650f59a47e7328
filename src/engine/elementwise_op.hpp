#pragma once

#include <optional>

#include "gym/kernels/vector_ops.hpp"
#include "gym/program/opcode.hpp"

namespace gym::engine {

/// nullopt: the op is another one, or has no vector kernel.
inline std::optional<kernels::UnaryOp> unary_op(program::Opcode code) {
    using kernels::UnaryOp;
    using program::Opcode;
    switch (code) {
        case Opcode::sqrt:
            return UnaryOp::kSqrt;
        case Opcode::rsqrt:
            return UnaryOp::kRsqrt;
        case Opcode::exp:
            return UnaryOp::kExp;
        case Opcode::log:
            return UnaryOp::kLog;
        case Opcode::sigmoid:
            return UnaryOp::kSigmoid;
        case Opcode::gelu:
            return UnaryOp::kGelu;
        case Opcode::silu:
            return UnaryOp::kSilu;
        default:
            return std::nullopt;
    }
}

inline std::optional<kernels::BinaryOp> binary_op(program::Opcode code) {
    using kernels::BinaryOp;
    using program::Opcode;
    switch (code) {
        case Opcode::add:
            return BinaryOp::kAdd;
        case Opcode::sub:
            return BinaryOp::kSub;
        case Opcode::mul:
            return BinaryOp::kMul;
        case Opcode::div:
            return BinaryOp::kDiv;
        case Opcode::min:
            return BinaryOp::kMin;
        case Opcode::less_equal:
            return BinaryOp::kLessEqual;
        default:
            return std::nullopt;
    }
}

}  // namespace gym::engine
