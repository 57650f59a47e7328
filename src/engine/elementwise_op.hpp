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
        case Opcode::kSqrt:
            return UnaryOp::kSqrt;
        case Opcode::kRsqrt:
            return UnaryOp::kRsqrt;
        case Opcode::kExp:
            return UnaryOp::kExp;
        case Opcode::kLog:
            return UnaryOp::kLog;
        case Opcode::kSigmoid:
            return UnaryOp::kSigmoid;
        case Opcode::kGelu:
            return UnaryOp::kGelu;
        case Opcode::kSilu:
            return UnaryOp::kSilu;
        default:
            return std::nullopt;
    }
}

inline std::optional<kernels::BinaryOp> binary_op(program::Opcode code) {
    using kernels::BinaryOp;
    using program::Opcode;
    switch (code) {
        case Opcode::kAdd:
            return BinaryOp::kAdd;
        case Opcode::kSub:
            return BinaryOp::kSub;
        case Opcode::kMul:
            return BinaryOp::kMul;
        case Opcode::kDiv:
            return BinaryOp::kDiv;
        case Opcode::kMin:
            return BinaryOp::kMin;
        case Opcode::kLessEqual:
            return BinaryOp::kLessEqual;
        default:
            return std::nullopt;
    }
}

}  // namespace gym::engine
