#include "program_shape.hpp"

#include <cstring>
#include <string>

#include "gym/program/train_program.hpp"

namespace gym::engine {

using program::Program;
using program::Slot;

Result<WindowShape> window_shape(const Program& program) {
    const program::SlotId id = program.find_slot(program::kBatchInput);
    if (id == program::kNoSlot || program.slot(id).kind != program::SlotKind::kInput)
        return fail(ErrorCode::kInvalidArgument, "the program has no input 'batch'");
    const Slot& slot = program.slot(id);
    if (slot.dtype != commit::DType::kI32 || slot.dims.size() != 2 || slot.dims[1] < 2)
        return fail(ErrorCode::kInvalidArgument,
                    "input 'batch' must be i32 [windows, tokens + 1], with at least one token");
    WindowShape shape{slot.dims[0], slot.dims[1] - 1, 1, 0};
    const program::SlotId stride = program.find_slot(program::kBatchStride);
    if (stride == program::kNoSlot) return shape;
    shape.stride = slot.dims[1];
    float value = 0;
    if (program.slot(stride).value.size() == sizeof value)
        std::memcpy(&value, program.slot(stride).value.data(), sizeof value);
    if (value != static_cast<float>(shape.stride))
        return fail(ErrorCode::kInvalidArgument,
                    "constant 'batch.stride' must be the length of a window");
    if (!program::has_labels(program)) return shape;
    for (const program::Op& op : program.ops())
        if (op.code == program::Opcode::kCrossEntropy)
            shape.classes = program.slot(op.inputs[0]).dims.back();
    return shape;
}

Status check_class(const WindowShape& shape, std::uint32_t token) {
    if (token < shape.classes) return {};
    return fail(ErrorCode::kInvalidArgument,
                "a row of the dataset has the label " + std::to_string(token) +
                    ", the model knows 0 to " + std::to_string(shape.classes - 1) + "; a row is " +
                    std::to_string(shape.window_tokens) +
                    " tokens and then its label (docs/PROGRAMS.md, \"Encoders\")");
}

Status check_classes(const WindowShape& shape, std::span<const std::int32_t> tokens) {
    if (shape.classes == 0) return {};
    for (std::size_t at = shape.window_tokens; at < tokens.size(); at += shape.stride)
        GYM_CHECK(check_class(shape, static_cast<std::uint32_t>(tokens[at])));
    return {};
}

std::uint32_t vocabulary(const Program& program) {
    if (program::has_labels(program)) {
        for (const program::Op& op : program.ops())
            if (op.code == program::Opcode::kGatherRows)
                return program.slot(op.inputs[0]).dims.front();
    }
    for (const program::Op& op : program.ops()) {
        if (op.code == program::Opcode::kCrossEntropy)
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
