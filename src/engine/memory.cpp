#include "gym/engine/memory.hpp"

#include <algorithm>

#include "device_scratch.hpp"
#include "gym/engine/device.hpp"
#include "gym/kernels/context.hpp"
#include "gym/kernels/cuda/scratch.hpp"
#include "gym/program/opcode.hpp"
#include "macro_arguments.hpp"
#include "make_context.hpp"
#include "memory_plan.hpp"

namespace gym::engine {
namespace {

using program::Op;
using program::Opcode;
using program::Program;

constexpr std::uint64_t kPanel = kernels::QuantisedMatrix::kPanel;

/// The buffers of kernels::MacroWorkspace, each as large as the op that needs it largest.
struct Buffers {
    std::uint64_t operand_a = 0, operand_b = 0, shared = 0, thread = 0, digits = 0;
};

std::uint64_t quantised_bytes(std::uint64_t vectors, std::uint64_t length) {
    const std::uint64_t padded = (vectors + kPanel - 1) / kPanel * kPanel;
    const std::uint64_t blocks = (length + program::kBlockElements - 1) / program::kBlockElements;
    return padded * (length * sizeof(std::int16_t) + (blocks + 1) * sizeof(std::int32_t));
}

/// An op with its slots, as macro_arguments.hpp reads them; it has no memory.
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

void grow(std::uint64_t& buffer, std::uint64_t bytes) {
    buffer = std::max(buffer, bytes);
}

/// A product's operands, as if both were quantised as a whole (of some products only parts are);
/// with AMX through oneDNN also their digits and the partial products of 512
/// rows (kernels/cpu/onednn.cpp).
void add_product(const kernels::MatmulShape& shape, Buffers& need) {
    const auto m = static_cast<std::uint64_t>(shape.m), n = static_cast<std::uint64_t>(shape.n),
               k = static_cast<std::uint64_t>(shape.k);
    constexpr std::uint64_t kRows = 512, kDigits = 3, kPartBytes = 4 * sizeof(std::int32_t) + 8;
    grow(need.operand_a, quantised_bytes(m, k));
    grow(need.operand_b, quantised_bytes(n, k));
    grow(need.digits, kDigits * (n + kRows) * k + kPartBytes * std::min(kRows, m) * n);
}

/// @param documents whether its values are divided by their powers of two first.
void add_attention(const kernels::AttentionShape& shape, bool backward, bool documents,
                   Buffers& need) {
    const auto length = static_cast<std::uint64_t>(shape.context),
               size = static_cast<std::uint64_t>(shape.size);
    const std::uint64_t squares = (backward ? 2 : 1) * length * length * sizeof(float);
    const std::uint64_t rows = (backward || documents ? 2 : 1) * length * size * sizeof(float);
    grow(need.thread, squares + rows + quantised_bytes(length, std::max(length, size)) +
                          quantised_bytes(std::max(length, size), std::max(length, size)));
}

void add(const ShapeCall& call, Buffers& need) {
    switch (call.op.code) {
        case Opcode::kMatmul:
            return add_product(arguments::matmul(call), need);
        case Opcode::kAttention:
        case Opcode::kAttentionDocuments:
            return add_attention(arguments::attention_shape(call), false,
                                 call.op.code == Opcode::kAttentionDocuments, need);
        case Opcode::kAttentionGrad:
        case Opcode::kAttentionDocumentsGrad:
            return add_attention(arguments::attention_shape(call), true, false, need);
        case Opcode::kLayernormGrad:  // sums and maxima of two columns a feature, by thread
            return grow(need.thread, 2 * std::uint64_t{call.input_slot(0).dims.back()} *
                                         (8 + 4 + sizeof(float)));
        case Opcode::kRmsnormGrad:
            return grow(need.shared, program::size_bytes(call.input_slot(0)));
        case Opcode::kEmbeddingGrad:
            return grow(need.shared, (program::element_count(call.input_slot(1).dims) +
                                      call.output_slot(0).dims[0] + 1) *
                                         sizeof(std::int32_t));
        default:
            return;
    }
}

}  // namespace

Result<MemoryNeed> memory_need(const Program& program, const EngineOptions& options) {
    GYM_TRY(const DeviceChoice device, parse_device(options.device));
    MemoryNeed need;
    for (const program::Slot& slot : program.slots())
        if (slot.kind != program::SlotKind::kTemp) need.state += program::size_bytes(slot);
    need.temps = plan_memory(program).arena_bytes;
    if (device.cuda) {
        namespace cuda = kernels::cuda;
        std::uint64_t lasting = 0;
        for (const std::uint64_t size : lasting_sizes(program, plan_memory(program)))
            lasting += cuda::padded_bytes(size);
        need.state = cuda::allocated_bytes(lasting);
        need.temps = cuda::allocated_bytes(need.temps);
        need.workspace = device_scratch_bytes(program) + cuda::kDriverBytes;
        return need;
    }
    GYM_TRY(const kernels::Isa isa, choose_isa(options));
    Buffers buffers;
    for (const Op& op : program.ops())
        add({program, op}, buffers);
    need.workspace =
        buffers.operand_a + buffers.operand_b + buffers.shared + options.threads * buffers.thread;
    if (isa == kernels::Isa::kAmx) need.workspace += buffers.digits;
    return need;
}

std::uint64_t host_bytes_beside_gpu(const Program& train) {
    std::uint64_t state = 0, delta = 0;
    for (const program::Slot& slot : train.slots()) {
        const bool is_parameter = slot.kind == program::SlotKind::kParam;
        if (is_parameter) delta += program::size_bytes(slot);
        if (is_parameter || slot.kind == program::SlotKind::kState)
            state += program::size_bytes(slot);
    }
    return state + delta;
}

Result<DeviceNeeds> device_needs(const Program& program) {
    DeviceNeeds needs;
    GYM_TRY(needs.cpu, memory_need(program));
    GYM_TRY(needs.gpu, memory_need(program, {.device = "cuda"}));
    return needs;
}

}  // namespace gym::engine
