#include "program_shape.hpp"

#include <string>

#include "gym/program/gpt.hpp"

namespace gym::engine {

using program::Program;
using program::Slot;

Result<WindowShape> window_shape(const Program& program) {
    const program::SlotId id = program.find_slot(program::kBatchInput);
    if (id == program::kNoSlot || program.slot(id).kind != program::SlotKind::input)
        return fail(ErrorCode::kInvalidArgument, "the program has no input 'batch'");
    const Slot& slot = program.slot(id);
    if (slot.dtype != commit::DType::i32 || slot.dims.size() != 2 || slot.dims[1] < 2)
        return fail(ErrorCode::kInvalidArgument,
                    "input 'batch' must be i32 [windows, tokens + 1], with at least one token");
    return WindowShape{slot.dims[0], slot.dims[1] - 1};
}

std::uint32_t vocabulary(const Program& program) {
    for (const program::Op& op : program.ops()) {
        if (op.code == program::Opcode::cross_entropy)
            return program.slot(op.inputs[0]).dims.back();
    }
    const program::SlotId logits = program.find_output(program::kLogitsOutput);
    return logits == program::kNoSlot ? 0 : program.slot(logits).dims.back();
}

Status check_vocabulary(const Program& program, const blob::Dataset& dataset) {
    const std::uint32_t size = vocabulary(program);
    if (size == 0 || dataset.vocabulary() <= size) return {};
    return fail(ErrorCode::kInvalidArgument,
                "the dataset's vocabulary (" + std::to_string(dataset.vocabulary()) +
                    " tokens) is larger than the program's (" + std::to_string(size) + ")");
}

}  // namespace gym::engine
