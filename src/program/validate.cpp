#include "gym/program/validate.hpp"

#include <cstring>
#include <set>
#include <string>

#include "gym/program/expand.hpp"

namespace gym::program {
namespace {

std::string slot_title(const std::vector<Slot>& slots, std::size_t id) {
    std::string title = "slot " + std::to_string(id);
    if (!slots[id].name.empty()) title += " '" + slots[id].name + "'";
    return title;
}

bool name_is_legal(const std::string& name) {
    if (name.empty() || name.size() > kNameBytesMax) return false;
    for (const char c : name) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!letter && c != '_' && c != '.') return false;
    }
    return true;
}

Status check_dims(const Dims& dims) {
    if (dims.empty() || dims.size() > kRankMax)
        return fail(ErrorCode::kOutOfRange, "rank must be 1 to " + std::to_string(kRankMax));
    for (const std::uint32_t dim : dims)
        if (dim == 0) return fail(ErrorCode::kOutOfRange, "a dim is 0");
    if (element_count(dims) > kSlotElementsMax)
        return fail(ErrorCode::kOutOfRange, "more than 2^31 elements: " + to_string(dims));
    return {};
}

/// Which NaN a constant holds must not be the compiler's choice.
bool has_foreign_nan(const Slot& slot) {
    if (slot.dtype != DType::kF32) return false;
    for (std::size_t at = 0; at + 4 <= slot.value.size(); at += 4) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, slot.value.data() + at, sizeof bits);
        if ((bits & 0x7FFFFFFFU) > 0x7F800000U && bits != 0x7FC00000U) return true;
    }
    return false;
}

Status check_kind(const Slot& slot) {
    const bool carried = slot.kind == SlotKind::kParam || slot.kind == SlotKind::kState;
    if (slot.kind < SlotKind::kParam || slot.kind > SlotKind::kTemp)
        return fail(ErrorCode::kInvalidArgument, "unknown kind");
    if (slot.kind == SlotKind::kTemp ? !slot.name.empty() : !name_is_legal(slot.name))
        return fail(ErrorCode::kInvalidArgument,
                    "temps have no name, all others 1 to 48 characters of a-z 0-9 _ .");
    if (slot.kind == SlotKind::kParam && slot.dtype != DType::kF32)
        return fail(ErrorCode::kInvalidArgument, "a param must be f32");
    if (carried != (slot.next != kNoSlot))
        return fail(ErrorCode::kInvalidArgument,
                    "params and states have a next value, others none");
    if (carried != (slot.init.kind != Init::Kind::kNone))
        return fail(ErrorCode::kInvalidArgument,
                    "params and states begin somewhere, others do not");
    if (slot.init.kind > Init::Kind::kNormal)
        return fail(ErrorCode::kInvalidArgument, "unknown kind of initial value");
    if (slot.init.kind == Init::Kind::kNormal && slot.kind != SlotKind::kParam)
        return fail(ErrorCode::kInvalidArgument, "only params begin at random");
    if (slot.init.kind == Init::Kind::kNone && slot.init.bits != 0)
        return fail(ErrorCode::kInvalidArgument, "initial bits without an initial value");
    if (slot.kind == SlotKind::kConstant ? slot.value.size() != size_bytes(slot)
                                         : !slot.value.empty())
        return fail(ErrorCode::kShapeMismatch, "constants hold exactly their bytes, others none");
    if (has_foreign_nan(slot))
        return fail(ErrorCode::kInvalidArgument, "a constant holds a NaN other than 0x7FC00000");
    return {};
}

Status check_next(const std::vector<Slot>& slots, SlotId id) {
    const Slot& slot = slots[id];
    if (slot.next == kNoSlot || slot.next == id) return {};
    if (slot.next >= slots.size() || slots[slot.next].kind != SlotKind::kTemp)
        return fail(ErrorCode::kInvalidArgument, "its next value is neither itself nor a temp");
    if (slots[slot.next].dtype != slot.dtype || slots[slot.next].dims != slot.dims)
        return fail(ErrorCode::kShapeMismatch, "its next value has another dtype or shape");
    return {};
}

Status check_slots(const std::vector<Slot>& slots) {
    if (slots.size() > kSlotsMax) return fail(ErrorCode::kOutOfRange, "too many slots");
    std::set<std::string> names;
    std::uint64_t constant_bytes = 0;
    for (SlotId id = 0; id < slots.size(); ++id) {
        const Slot& slot = slots[id];
        Status status = check_dims(slot.dims);
        if (status.ok()) status = check_kind(slot);
        if (status.ok()) status = check_next(slots, id);
        if (!status.ok()) return status.error().in(slot_title(slots, id));
        if (!slot.name.empty() && !names.insert(slot.name).second)
            return fail(ErrorCode::kInvalidArgument, "two slots are named '" + slot.name + "'");
        constant_bytes += slot.value.size();
    }
    if (constant_bytes > kConstantBytesMax)
        return fail(ErrorCode::kOutOfRange, "constants take more than 2^26 bytes");
    return {};
}

Status check_arity(const Op& op, std::size_t slot_count) {
    const OpcodeInfo* opcode = find_opcode(static_cast<std::uint16_t>(op.code));
    if (opcode == nullptr) return fail(ErrorCode::kInvalidArgument, "unknown opcode");
    if (op.inputs.size() < opcode->inputs_min || op.inputs.size() > opcode->inputs_max ||
        op.outputs.size() != opcode->outputs)
        return fail(ErrorCode::kInvalidArgument, "wrong number of inputs or outputs");
    for (const SlotId id : op.inputs)
        if (id >= slot_count) return fail(ErrorCode::kInvalidArgument, "no such input slot");
    for (const SlotId id : op.outputs)
        if (id >= slot_count) return fail(ErrorCode::kInvalidArgument, "no such output slot");
    return check_attributes(op);
}

/// A macro whose expansion breaks a bound could never be disputed, so it is refused as a whole.
Status check_expansion(const std::vector<Slot>& slots, const Op& op) {
    if (!info(op.code).macro) return {};
    const Expansion expansion = expand(slots, op, static_cast<SlotId>(slots.size()));
    for (const Slot& temp : expansion.temps) {
        if (Status status = check_dims(temp.dims); !status.ok())
            return status.error().in("expansion");
    }
    return {};
}

Status check_ops(const ProgramParts& parts) {
    const std::vector<Slot>& slots = parts.slots;
    if (parts.ops.empty()) return fail(ErrorCode::kInvalidArgument, "a program without ops");
    if (parts.ops.size() > kOpsMax) return fail(ErrorCode::kOutOfRange, "too many ops");
    std::vector<bool> written(slots.size());
    for (std::size_t i = 0; i < slots.size(); ++i)
        written[i] = slots[i].kind != SlotKind::kTemp;
    for (std::size_t i = 0; i < parts.ops.size(); ++i) {
        const Op& op = parts.ops[i];
        std::string title = "op " + std::to_string(i);
        if (Status status = check_arity(op, slots.size()); !status.ok())
            return status.error().in(title);
        title += " (" + std::string(to_string(op.code)) + ")";
        for (const SlotId id : op.inputs)
            if (!written[id])
                return fail(ErrorCode::kInvalidArgument, title + ": slot " + std::to_string(id) +
                                                             " is read before it is written");
        for (const SlotId id : op.outputs) {
            if (slots[id].kind != SlotKind::kTemp || written[id])
                return fail(
                    ErrorCode::kInvalidArgument,
                    title + ": writes slot " + std::to_string(id) + ", which is " +
                        (slots[id].kind == SlotKind::kTemp ? "written twice" : "not a temp"));
            written[id] = true;
        }
        Status status = check_op(slots, op);
        if (status.ok()) status = check_expansion(slots, op);
        if (!status.ok()) return status.error().in(title);
    }
    for (std::size_t i = 0; i < slots.size(); ++i)
        if (!written[i])
            return fail(ErrorCode::kInvalidArgument, slot_title(slots, i) + " is never written");
    return {};
}

Status check_outputs(const ProgramParts& parts) {
    if (parts.outputs.size() > kOutputsMax) return fail(ErrorCode::kOutOfRange, "too many outputs");
    std::set<std::string> names;
    for (const Output& output : parts.outputs) {
        if (!name_is_legal(output.name))
            return fail(ErrorCode::kInvalidArgument, "an output's name is not legal");
        if (output.slot >= parts.slots.size())
            return fail(ErrorCode::kInvalidArgument, "output '" + output.name + "' has no slot");
        if (!names.insert(output.name).second)
            return fail(ErrorCode::kInvalidArgument, "two outputs named '" + output.name + "'");
    }
    return {};
}

}  // namespace

Status check_attributes(const Op& op) {
    const auto& schema = info(op.code).attributes;
    for (std::size_t i = 0; i < kAttributesMax; ++i) {
        const std::uint64_t value = op.attributes[i];
        if (i >= schema.size()) {
            if (value != 0) return fail(ErrorCode::kInvalidArgument, "an unused attribute is set");
            continue;
        }
        const std::string name(schema[i].name);
        if (schema[i].kind == AttributeKind::kFlag && value > 1)
            return fail(ErrorCode::kInvalidArgument, name + " must be 0 or 1");
        if (schema[i].kind != AttributeKind::kF32Bits) continue;
        if (value > 0xFFFFFFFFU || (value & 0x7FFFFFFFU) > 0x7F800000U)
            return fail(ErrorCode::kInvalidArgument, name + " must be the bits of an f32, not NaN");
    }
    return {};
}

Status validate(const ProgramParts& parts) {
    if (parts.numerics_version != kNumericsVersion)
        return fail(ErrorCode::kInvalidArgument, "numerics version " +
                                                     std::to_string(parts.numerics_version) +
                                                     "; this build knows version 1");
    GYM_CHECK(check_slots(parts.slots));
    GYM_CHECK(check_ops(parts));
    return check_outputs(parts);
}

}  // namespace gym::program
