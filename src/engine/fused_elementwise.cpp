#include <algorithm>
#include <optional>

#include "elementwise_op.hpp"
#include "fused.hpp"
#include "gym/kernels/vector_ops.hpp"
#include "gym/program/validate.hpp"

namespace gym::engine {
namespace {

using kernels::BinaryOp;
using kernels::LoopChunk;
using kernels::UnaryOp;
using program::Opcode;

constexpr std::int64_t kGrainElements = 4096;

/// How an operand is repeated, as far as the fast paths go.
struct Operand {
    const float* data;
    std::int64_t period;  ///< elements before it repeats; 1: a scalar
};
/// One whose every element counts for a row of the output.
struct Column {
    const float* data;
    std::int64_t width;  ///< of a row
};

/// nullopt for a column, which repeats each element instead of the whole.
std::optional<Operand> operand(const OpCall& call, std::size_t k) {
    const auto broadcast = program::broadcast(call.input_slot(k).dims, call.output_slot(0).dims);
    if (!broadcast || broadcast->divisor != 1) return std::nullopt;
    return Operand{call.input(k), static_cast<std::int64_t>(broadcast->period)};
}

std::optional<Column> column(const OpCall& call, std::size_t k) {
    const auto broadcast = program::broadcast(call.input_slot(k).dims, call.output_slot(0).dims);
    if (!broadcast || broadcast->divisor == 1) return std::nullopt;
    return Column{call.input(k), static_cast<std::int64_t>(broadcast->divisor)};
}

std::int64_t output_count(const OpCall& call) {
    return static_cast<std::int64_t>(program::element_count(call.output_slot(0).dims));
}

bool run_unary(const OpCall& call, UnaryOp op) {
    const auto x = operand(call, 0);
    const std::int64_t count = output_count(call);
    if (!x || x->period != count) return false;
    float* y = call.output(0);
    call.context.pool().parallel_for(count, kGrainElements, [&](LoopChunk chunk) {
        kernels::map_unary(call.context.isa(), op, x->data + chunk.begin, y + chunk.begin,
                           chunk.end - chunk.begin);
    });
    return true;
}

/// y[begin, end) = op(a, b) where b repeats every `period` elements.
void run_periodic(kernels::Isa isa, BinaryOp op, const float* a, Operand b, float* y,
                  LoopChunk chunk) {
    for (std::int64_t i = chunk.begin; i < chunk.end;) {
        const std::int64_t at = i % b.period;
        const std::int64_t count = std::min(b.period - at, chunk.end - i);
        kernels::map_binary(isa, op, a + i, b.data + at, y + i, count);
        i += count;
    }
}

/// y[begin, end) = op(a, b) where b has an element for each row.
void run_column(kernels::Isa isa, BinaryOp op, const float* a, Column b, float* y,
                LoopChunk chunk) {
    for (std::int64_t i = chunk.begin; i < chunk.end;) {
        const std::int64_t row = i / b.width;
        const std::int64_t count = std::min((row + 1) * b.width, chunk.end) - i;
        kernels::map_binary_scalar(isa, op, a + i, b.data[row], y + i, count);
        i += count;
    }
}

bool run_binary(const OpCall& call, BinaryOp op) {
    const auto a = operand(call, 0), b = operand(call, 1);
    const std::int64_t count = output_count(call);
    if (!a || a->period != count) return false;
    if (const auto rows = column(call, 1)) {
        float* y = call.output(0);
        call.context.pool().parallel_for(count, kGrainElements, [&](LoopChunk chunk) {
            run_column(call.context.isa(), op, a->data, *rows, y, chunk);
        });
        return true;
    }
    if (!b) return false;
    float* y = call.output(0);
    const kernels::Isa isa = call.context.isa();
    call.context.pool().parallel_for(count, kGrainElements, [&](LoopChunk chunk) {
        if (b->period == 1) {
            kernels::map_binary_scalar(isa, op, a->data + chunk.begin, *b->data, y + chunk.begin,
                                       chunk.end - chunk.begin);
        } else {
            run_periodic(isa, op, a->data, *b, y, chunk);
        }
    });
    return true;
}

bool run_fma(const OpCall& call) {
    const auto a = operand(call, 0), b = operand(call, 1), c = operand(call, 2);
    const std::int64_t count = output_count(call);
    if (!a || !b || !c || a->period != count || c->period != count) return false;
    if (b->period != count && b->period != 1) return false;
    float* y = call.output(0);
    const kernels::Isa isa = call.context.isa();
    call.context.pool().parallel_for(count, kGrainElements, [&](LoopChunk chunk) {
        const std::int64_t n = chunk.end - chunk.begin;
        if (b->period == 1 && count != 1) {
            kernels::map_fma_scalar(isa, a->data + chunk.begin, *b->data, c->data + chunk.begin,
                                    y + chunk.begin, n);
        } else {
            kernels::map_fma(isa, a->data + chunk.begin, b->data + chunk.begin,
                             c->data + chunk.begin, y + chunk.begin, n);
        }
    });
    return true;
}

}  // namespace

bool fast_elementwise(const OpCall& call) {
    if (const auto op = unary_op(call.op.code)) return run_unary(call, *op);
    if (const auto op = binary_op(call.op.code)) return run_binary(call, *op);
    return call.op.code == Opcode::kFma && run_fma(call);
}

}  // namespace gym::engine
