#include <optional>

#include "cuda_execute.hpp"
#include "elementwise_op.hpp"
#include "gym/common/assert.hpp"
#include "gym/kernels/cuda/primitives.hpp"
#include "gym/kernels/cuda/scratch.hpp"
#include "gym/program/expand.hpp"
#include "gym/program/opcode.hpp"
#include "gym/program/validate.hpp"
#include "macro_arguments.hpp"

namespace gym::engine {
namespace {

namespace cuda = kernels::cuda;
using commit::DType;
using program::Opcode;

cuda::Operand operand(const CudaCall& call, std::size_t k) {
    const auto found = program::broadcast(call.input_slot(k).dims, call.output_slot().dims);
    GYM_ASSERT(found.has_value(), "operands of a legal op broadcast");
    return {call.input(k), static_cast<std::int64_t>(found->divisor),
            static_cast<std::int64_t>(found->period)};
}

bool run_elementwise(const CudaCall& call) {
    const std::int64_t count = elements(call.output_slot());
    if (const auto op = unary_op(call.op.code)) {
        cuda::map_unary(call.device, *op, operand(call, 0), call.output(), count);
        return true;
    }
    if (const auto op = binary_op(call.op.code)) {
        cuda::map_binary(call.device, *op, operand(call, 0), operand(call, 1), call.output(),
                         count);
        return true;
    }
    if (call.op.code == Opcode::kFma) {
        cuda::map_fma(call.device, operand(call, 0), operand(call, 1), operand(call, 2),
                      call.output(), count);
        return true;
    }
    if (call.op.code == Opcode::kSelect) {
        cuda::select(call.device, operand(call, 0), operand(call, 1), operand(call, 2),
                     call.output(), count);
        return true;
    }
    if (call.op.code != Opcode::kFill) return false;
    cuda::fill(call.device, static_cast<std::uint32_t>(call.op.attributes[0]), call.output(),
               count);
    return true;
}

void strided_copy(const CudaCall& call) {
    const auto& dims = call.output_slot().dims;
    cuda::StridedLayout layout{};
    layout.rank = static_cast<int>(dims.size());
    layout.offset = static_cast<std::int64_t>(call.op.attributes[0]);
    for (std::size_t d = 0; d < dims.size(); ++d) {
        layout.dims[d] = dims[d];
        layout.strides[d] = static_cast<std::int64_t>(call.op.attributes[1 + d]);
    }
    cuda::strided_copy(call.device, call.input(0), layout,
                       static_cast<int>(commit::size_bytes(call.output_slot().dtype)),
                       call.output());
}

void concat(const CudaCall& call) {
    const cuda::Rows out = device_rows(call.output_slot());
    const auto size = static_cast<std::int64_t>(commit::size_bytes(call.output_slot().dtype));
    std::byte* to = call.output<std::byte>();
    for (std::size_t k = 0; k < call.op.inputs.size(); ++k) {
        const std::int64_t bytes = rows_of(call.input_slot(k)).length * size;
        cuda::copy_rows(call.device, call.input(k), {out.count, bytes, out.length * size}, to);
        to += bytes;
    }
}

bool run_movement(const CudaCall& call) {
    cuda::Device& device = call.device;
    switch (call.op.code) {
        case Opcode::kStridedCopy:
            return strided_copy(call), true;
        case Opcode::kConcat:
            return concat(call), true;
        case Opcode::kGatherRows:
            return cuda::gather_rows(device, call.input(0), device_rows(call.input_slot(0)),
                                     call.input<std::int32_t>(1), elements(call.input_slot(1)),
                                     call.output()),
                   true;
        case Opcode::kPick:
            return cuda::pick(device, call.input(0), device_rows(call.input_slot(0)),
                              call.input<std::int32_t>(1), call.output()),
                   true;
        case Opcode::kOneHot:
            return cuda::one_hot(device, call.input<std::int32_t>(0),
                                 device_rows(call.output_slot()), call.output()),
                   true;
        case Opcode::kRandomMask:
            return cuda::random_mask(device, call.input<std::int32_t>(0),
                                     arguments::random_mask(call.op), call.output(),
                                     elements(call.output_slot())),
                   true;
        case Opcode::kCausalFill:
            return cuda::causal_fill(device, call.input(0), device_rows(call.input_slot(0)),
                                     static_cast<std::uint32_t>(call.op.attributes[0]),
                                     call.output()),
                   true;
        default:
            return false;
    }
}

void block_max(const CudaCall& call) {
    const cuda::Rows x = device_rows(call.input_slot(0));
    if (call.input_slot(0).dtype == DType::kF32)
        cuda::block_max(call.device, call.input(0), x, call.output());
    else
        cuda::block_max(call.device, call.input<std::int32_t>(0), x, call.output<std::int32_t>());
}

void block_sum(const CudaCall& call) {
    const cuda::Rows x = device_rows(call.input_slot(0));
    auto* out = call.output<std::int64_t>();
    if (call.input_slot(0).dtype == DType::kI64)
        cuda::block_sum(call.device, call.input<std::int64_t>(0), x, out);
    else
        cuda::block_sum(call.device, call.input<std::int32_t>(0), x, out);
}

bool run_block(const CudaCall& call) {
    const cuda::Rows x = device_rows(call.input_slot(0));
    switch (call.op.code) {
        case Opcode::kBlockMax:
            return block_max(call), true;
        case Opcode::kBlockExponent:
            return cuda::block_exponent(call.device, call.input(0), x, call.output<std::int32_t>()),
                   true;
        case Opcode::kConstantExponent:
            return cuda::constant_exponent(call.device, call.input(0), x,
                                           static_cast<std::int32_t>(call.op.attributes[0]),
                                           call.output<std::int32_t>()),
                   true;
        case Opcode::kQuantiseI32:
            return cuda::quantise_i32(call.device, call.input(0), x, call.input<std::int32_t>(1),
                                      rows_of(call.input_slot(1)).length,
                                      call.output<std::int32_t>()),
                   true;
        case Opcode::kQuantiseI16:
            return cuda::quantise_i16(call.device, call.input(0), x, call.input<std::int32_t>(1),
                                      rows_of(call.input_slot(1)).length,
                                      call.output<std::int16_t>()),
                   true;
        case Opcode::kBlockSum:
            return block_sum(call), true;
        default:
            return false;
    }
}

/// Of dims (.., M, N, B) of a product's parts.
cuda::ProductParts parts_of(const program::Dims& dims, std::int64_t length) {
    const std::size_t rank = dims.size();
    const std::int64_t m = dims[rank - 3], n = dims[rank - 2];
    const auto cells = static_cast<std::int64_t>(program::element_count(dims)) / dims[rank - 1];
    return {cells / (m * n), m, n, length};
}

bool run_integer_part(const CudaCall& call) {
    cuda::Device& device = call.device;
    const auto blocks_length = [](const program::Slot& slot) {
        return slot.dims.back() * static_cast<std::int64_t>(program::kBlockElements);
    };
    switch (call.op.code) {
        case Opcode::kSelectSum:
            return cuda::select_sum(device, call.input<std::int32_t>(0),
                                    device_rows(call.input_slot(0)), call.input<std::int32_t>(1),
                                    call.output_slot().dims[0], call.output<std::int64_t>()),
                   true;
        case Opcode::kFinishSum:
            return cuda::finish_sum(device, call.input<std::int64_t>(0),
                                    call.input<std::int32_t>(1), elements(call.input_slot(1)),
                                    call.output(), elements(call.output_slot())),
                   true;
        case Opcode::kBlockDot:
            return cuda::block_dot(
                       device, call.input<std::int16_t>(0), call.input<std::int16_t>(1),
                       parts_of(call.output_slot().dims, call.input_slot(0).dims.back()),
                       call.output<std::int64_t>()),
                   true;
        case Opcode::kRescaleDot:
            return cuda::rescale_dot(
                       device, call.input<std::int64_t>(0),
                       {call.input<std::int32_t>(1), call.input<std::int32_t>(2),
                        call.input<std::int32_t>(3), call.input<std::int32_t>(4)},
                       parts_of(call.output_slot().dims, blocks_length(call.output_slot())),
                       call.output<std::int64_t>()),
                   true;
        case Opcode::kFinishProduct:
            return cuda::finish_product(device, call.input<std::int64_t>(0),
                                        call.input<std::int32_t>(1), call.input<std::int32_t>(2),
                                        parts_of(call.input_slot(0).dims, 1), call.output()),
                   true;
        default:
            return false;
    }
}

std::size_t padded_size(const program::Slot& slot) {
    return kernels::cuda::padded_bytes(program::size_bytes(slot));
}

bool run_expansion(const CudaCall& call) {
    const auto first_temp = static_cast<program::SlotId>(call.slots.size());
    const program::Expansion expansion = program::expand(call.slots, call.op, first_temp);
    std::size_t total = 0;
    for (const program::Slot& temp : expansion.temps)
        total += padded_size(temp);
    std::byte* next = call.device.scratch(kernels::cuda::kScratchExpansion, total);
    DevicePointers memory = call.memory;
    std::vector<program::Slot> slots(call.slots.begin(), call.slots.end());
    for (const program::Slot& temp : expansion.temps) {
        memory.push_back(next);
        next += padded_size(temp);
        slots.push_back(temp);
    }
    for (const program::Op& op : expansion.ops) {
        if (!run_cuda_primitive({call.device, slots, op, memory})) return false;
    }
    return true;
}

}  // namespace

bool run_cuda_primitive(const CudaCall& call) {
    if (run_elementwise(call) || run_movement(call)) return true;
    return run_block(call) || run_integer_part(call);
}

bool execute_on_device(const CudaCall& call) {
    if (run_cuda_macro(call)) return true;
    return program::info(call.op.code).macro ? run_expansion(call) : run_cuda_primitive(call);
}

}  // namespace gym::engine
