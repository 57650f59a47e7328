#include "device_scratch.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "gym/kernels/cuda/attention_parts.hpp"
#include "gym/kernels/cuda/hash_parts.hpp"
#include "gym/kernels/q14.h"
#include "gym/program/opcode.hpp"
#include "macro_arguments.hpp"
#include "memory_plan.hpp"

namespace gym::engine {
namespace {

using program::Op;
using program::Opcode;
using program::Program;

/// As device calls have it, without memory.
struct ShapeCall {
    const Program& program;
    const Op& op;

    [[nodiscard]] const program::Slot& input_slot(std::size_t k) const {
        return program.slot(op.inputs[k]);
    }
    [[nodiscard]] const program::Slot& output_slot(std::size_t k) const {
        return program.slot(op.outputs[k]);
    }
};

/// Numbers of buffers, as kernels/cuda/scratch.hpp has them.
constexpr std::size_t kA = 0, kB = 4, kColumnMaxima = 8, kColumnTotals = 9, kMacro0 = 10,
                      kCheck = 14;

/// What each needs, by its number.
struct Scratch {
    std::array<std::uint64_t, 16> bytes{};

    void grow(std::size_t index, std::int64_t size) {
        bytes[index] = std::max(bytes[index], static_cast<std::uint64_t>(size));
    }
    /// An operand of a product: kernels/cuda/quantise.cu.
    void grow_digits(std::size_t first, std::int64_t items, std::int64_t vectors,
                     std::int64_t length) {
        constexpr std::int64_t kPitchUnit = 64, kWord = 4;
        const std::int64_t pitch = (length + kPitchUnit - 1) / kPitchUnit * kPitchUnit;
        grow(first, items * vectors * pitch);
        grow(first + 1, items * vectors * pitch);
        // Of a block an exponent, and of one of a its sum.
        const std::int64_t words = first == kA ? 2 : 1;
        grow(first + 2, items * vectors * kernels::q14_block_count(length) * words * kWord);
        grow(first + 3, items * vectors * kWord);
    }
};

/// Sums of the checks: kernels/include/gym/kernels/cuda/checks.hpp.
constexpr std::uint64_t kSumsTableBytes = std::uint64_t{1} << 20;
constexpr std::int64_t kFloat = sizeof(float), kTotal = sizeof(std::int64_t);

void add_columns(std::int64_t columns, Scratch& need) {
    need.grow(kColumnMaxima, columns * kFloat);
    need.grow(kColumnTotals, columns * kTotal);
}

/// The weighted columns of a product's second operand: kernels/cuda/product_check.cu.
void add_product_check(std::int64_t items, std::int64_t vectors, std::int64_t length,
                       Scratch& need) {
    constexpr std::int64_t kPitchUnit = 64, kTile = 128;
    const std::int64_t pitch = (length + kPitchUnit - 1) / kPitchUnit * kPitchUnit;
    need.grow(kCheck, items * ((vectors + kTile - 1) / kTile) * pitch * kTotal);
}

/// A copy of what an op writes over: kernels/cuda/checks.cu.
std::int64_t copied(std::int64_t bytes) {
    constexpr std::int64_t kAlignment = 256;
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void add_attention(const kernels::AttentionShape& shape, bool backward, bool documents,
                   Scratch& need) {
    const std::int64_t items = kernels::cuda::windows_at_once(shape) * shape.heads;
    const std::int64_t length = shape.context, size = shape.size;
    const std::int64_t rows = items * length, cells = rows * length;
    need.grow(kMacro0, rows * size * kFloat);
    need.grow(kMacro0 + 1, cells * kFloat);
    if (backward || documents) need.grow(kMacro0 + 2, (rows * size + rows) * kFloat);
    if (backward) need.grow(kMacro0 + 3, cells * kFloat);
    need.grow_digits(kA, items, length, size);
    need.grow_digits(kB, items, length, size);
    need.grow_digits(kA, items, length, length);
    need.grow_digits(kB, items, size, length);
    need.grow(kCheck, copied(cells * kFloat));
    need.grow(kCheck, copied(rows * size * kFloat * (backward ? 3 : 1)));
    add_product_check(items, length, size, need);
    add_product_check(items, size, length, need);
}

/// What an op writes over its own operands.
void add_overwritten(const Program& program, const MemoryPlan& plan, const Op& op, Scratch& need) {
    if (op.code == Opcode::kAdamw || op.code == Opcode::kAdamwGuarded)
        return;  // summed, not copied
    std::int64_t bytes = 0;
    for (const program::SlotId out : op.outputs) {
        if (plan.slots[out].place != MemoryPlan::Place::kInState) continue;
        if (std::ranges::find(op.inputs, plan.slots[out].target) != op.inputs.end())
            bytes += copied(static_cast<std::int64_t>(program::size_bytes(program.slot(out))));
    }
    need.grow(kCheck, bytes);
}

void add_norm_gradient(const program::Slot& x, Scratch& need) {
    need.grow(kMacro0, static_cast<std::int64_t>(program::size_bytes(x)));
    add_columns(x.dims.back(), need);
}

void add(const ShapeCall& call, Scratch& need) {
    switch (call.op.code) {
        case Opcode::kMatmul: {
            const kernels::MatmulShape shape = arguments::matmul(call);
            need.grow_digits(kA, 1, shape.m, shape.k);
            need.grow_digits(kB, 1, shape.n, shape.k);
            return add_product_check(1, shape.n, shape.k, need);
        }
        case Opcode::kAttention:
        case Opcode::kAttentionDocuments:
            return add_attention(arguments::attention_shape(call), false,
                                 call.op.code == Opcode::kAttentionDocuments, need);
        case Opcode::kAttentionGrad:
        case Opcode::kAttentionDocumentsGrad:
            return add_attention(arguments::attention_shape(call), true, false, need);
        case Opcode::kLayernormGrad:
        case Opcode::kRmsnormGrad:
            return add_norm_gradient(call.input_slot(0), need);
        case Opcode::kColumnSum:
            return add_columns(elements(call.output_slot(0)), need);
        case Opcode::kSumSquares:
            return add_columns(1, need);
        case Opcode::kCrossEntropy:
            return need.grow(kMacro0, rows_of(call.input_slot(0)).count * kFloat);
        case Opcode::kEmbeddingGrad:
            need.grow(kColumnMaxima, rows_of(call.output_slot(0)).length * kFloat);
            return need.grow(kColumnTotals, elements(call.output_slot(0)) * kTotal);
        default:
            return;
    }
}

std::int64_t hash_bytes(const program::Slot& slot) {
    return kernels::cuda::hash_scratch_bytes(static_cast<std::int64_t>(program::size_bytes(slot)));
}

}  // namespace

std::uint64_t device_scratch_bytes(const Program& program) {
    Scratch need;
    const MemoryPlan plan = plan_memory(program);
    for (const Op& op : program.ops()) {
        add({program, op}, need);
        add_overwritten(program, plan, op, need);
    }
    for (const program::Slot& slot : program.slots())
        if (slot.kind == program::SlotKind::kParam || slot.kind == program::SlotKind::kState)
            need.grow(kMacro0, hash_bytes(slot));
    for (const auto& output : program.outputs())
        if (outlives_the_run(program, output.name))
            need.grow(kMacro0, hash_bytes(program.slot(output.slot)));
    return std::accumulate(need.bytes.begin(), need.bytes.end(), kSumsTableBytes);
}

}  // namespace gym::engine
