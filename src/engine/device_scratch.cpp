#include "device_scratch.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "gym/kernels/cuda/attention_parts.hpp"
#include "gym/kernels/cuda/checks.hpp"
#include "gym/kernels/cuda/hash_parts.hpp"
#include "gym/kernels/cuda/scratch.hpp"
#include "gym/kernels/q14.h"
#include "gym/program/opcode.hpp"
#include "macro_arguments.hpp"
#include "memory_plan.hpp"

namespace gym::engine {
namespace {

namespace cuda = kernels::cuda;
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

/// What each needs, by its number.
struct Scratch {
    std::array<std::uint64_t, cuda::Device::kScratchBuffers> bytes{};

    void grow(int index, std::int64_t size) {
        std::uint64_t& most = bytes[static_cast<std::size_t>(index)];
        most = std::max(most, static_cast<std::uint64_t>(size));
    }
    /// An operand of a product: kernels/cuda/quantise.cu.
    void grow_digits(int first, std::int64_t items, std::int64_t vectors, std::int64_t length) {
        constexpr std::int64_t kWord = sizeof(std::int32_t);
        const std::int64_t pitch = cuda::digit_pitch(length);
        grow(first, items * vectors * pitch);
        grow(first + 1, items * vectors * pitch);
        // Of a block an exponent, and of one of a its sum.
        const std::int64_t words = first == cuda::kScratchA ? 2 : 1;
        grow(first + 2, items * vectors * kernels::q14_block_count(length) * words * kWord);
        grow(first + 3, items * vectors * kWord);
    }
};

constexpr std::int64_t kFloat = sizeof(float), kTotal = sizeof(std::int64_t);

void add_columns(std::int64_t columns, Scratch& need) {
    need.grow(cuda::kScratchColumnMaxima, columns * kFloat);
    need.grow(cuda::kScratchColumnTotals, columns * kTotal);
}

/// The weighted columns of a product's second operand: kernels/cuda/product_check.cu.
void add_product_check(std::int64_t items, std::int64_t vectors, std::int64_t length,
                       Scratch& need) {
    constexpr std::int64_t kTile = cuda::kCheckedTileVectors;
    const std::int64_t tiles = (vectors + kTile - 1) / kTile;
    need.grow(cuda::kScratchCheck, items * tiles * cuda::digit_pitch(length) * kTotal);
}

/// A copy of what an op writes over: kernels/cuda/checks.cu.
std::int64_t copied(std::int64_t bytes) {
    return static_cast<std::int64_t>(cuda::padded_bytes(static_cast<std::size_t>(bytes)));
}

void add_attention(const kernels::AttentionShape& shape, bool backward, bool documents,
                   Scratch& need) {
    const std::int64_t items = cuda::windows_at_once(shape) * shape.heads;
    const std::int64_t length = shape.context, size = shape.size;
    const std::int64_t rows = items * length, cells = rows * length;
    need.grow(cuda::kScratchMacro0, rows * size * kFloat);
    need.grow(cuda::kScratchMacro1, cells * kFloat);
    if (backward || documents) need.grow(cuda::kScratchMacro2, (rows * size + rows) * kFloat);
    if (backward) need.grow(cuda::kScratchMacro3, cells * kFloat);
    need.grow_digits(cuda::kScratchA, items, length, size);
    need.grow_digits(cuda::kScratchB, items, length, size);
    need.grow_digits(cuda::kScratchA, items, length, length);
    need.grow_digits(cuda::kScratchB, items, size, length);
    need.grow(cuda::kScratchCheck, copied(cells * kFloat));
    need.grow(cuda::kScratchCheck, copied(rows * size * kFloat * (backward ? 3 : 1)));
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
    need.grow(cuda::kScratchCheck, bytes);
}

void add_norm_gradient(const program::Slot& x, Scratch& need) {
    need.grow(cuda::kScratchMacro0, static_cast<std::int64_t>(program::size_bytes(x)));
    add_columns(x.dims.back(), need);
}

void add(const ShapeCall& call, Scratch& need) {
    switch (call.op.code) {
        case Opcode::kMatmul: {
            const kernels::MatmulShape shape = arguments::matmul(call);
            need.grow_digits(cuda::kScratchA, 1, shape.m, shape.k);
            need.grow_digits(cuda::kScratchB, 1, shape.n, shape.k);
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
            return need.grow(cuda::kScratchMacro0, rows_of(call.input_slot(0)).count * kFloat);
        case Opcode::kEmbeddingGrad:
            need.grow(cuda::kScratchColumnMaxima, rows_of(call.output_slot(0)).length * kFloat);
            return need.grow(cuda::kScratchColumnTotals, elements(call.output_slot(0)) * kTotal);
        default:
            return;
    }
}

std::int64_t hash_bytes(const program::Slot& slot) {
    return cuda::hash_scratch_bytes(static_cast<std::int64_t>(program::size_bytes(slot)));
}

}  // namespace

std::vector<std::uint64_t> lasting_sizes(const Program& program, const MemoryPlan& plan) {
    std::vector<std::uint64_t> sizes;
    std::size_t state = 0;
    for (program::SlotId id = 0; id < program.slots().size(); ++id) {
        const program::Slot& slot = program.slot(id);
        const bool lasts = plan.slots[id].place == MemoryPlan::Place::kExternal;
        sizes.push_back(lasts ? program::size_bytes(slot) : 0);
        if (slot.kind == program::SlotKind::kParam || slot.kind == program::SlotKind::kState)
            ++state;
    }
    sizes.push_back(2 * std::max(state, program.outputs().size()) * Digest::kSize);
    return sizes;
}

std::uint64_t device_scratch_bytes(const Program& program) {
    Scratch need;
    const MemoryPlan plan = plan_memory(program);
    for (const Op& op : program.ops()) {
        add({program, op}, need);
        add_overwritten(program, plan, op, need);
    }
    for (const program::Slot& slot : program.slots())
        if (slot.kind == program::SlotKind::kParam || slot.kind == program::SlotKind::kState)
            need.grow(cuda::kScratchMacro0, hash_bytes(slot));
    for (const auto& output : program.outputs())
        if (outlives_the_run(program, output.name))
            need.grow(cuda::kScratchMacro0, hash_bytes(program.slot(output.slot)));
    const auto add_allocated = [](std::uint64_t sum, std::uint64_t bytes) {
        return sum + cuda::allocated_bytes(bytes);
    };
    return std::accumulate(need.bytes.begin(), need.bytes.end(),
                           add_allocated(0, cuda::Checks::kTableBytes), add_allocated);
}

}  // namespace gym::engine
