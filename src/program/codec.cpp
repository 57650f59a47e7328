#include "gym/program/codec.hpp"

#include <algorithm>
#include <string>

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/commit/tensor_root.hpp"

namespace gym::program {
namespace {

using commit::Decoder;
using commit::Encoder;

constexpr std::string_view kMagic = "GYMPROG1";
constexpr std::uint8_t kRootTag = 0x04;
constexpr std::size_t kSlotTailBytes = 16, kOutputTailBytes = 12;

void put_zeros(Encoder& out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        out.u8(0);
}

void put_name(Encoder& out, const std::string& name) {
    out.raw(as_bytes(name));
    put_zeros(out, kNameBytesMax - name.size());
}

Digest value_root(const Slot& slot) {
    const std::vector<std::uint64_t> dims(slot.dims.begin(), slot.dims.end());
    return commit::tensor_root(slot.dtype, dims, slot.value);
}

void put_slot(Encoder& out, const Slot& slot) {
    out.u8(static_cast<std::uint8_t>(slot.kind)).u8(static_cast<std::uint8_t>(slot.dtype));
    out.u8(static_cast<std::uint8_t>(slot.dims.size()));
    out.u8(static_cast<std::uint8_t>(slot.init.kind));
    for (std::size_t i = 0; i < kRankMax; ++i)
        out.u32(i < slot.dims.size() ? slot.dims[i] : 0);
    out.u32(slot.next).u32(slot.init.bits);
    put_name(out, slot.name);
    out.fixed(slot.kind == SlotKind::kConstant ? value_root(slot) : Digest{});
    put_zeros(out, kSlotTailBytes);
}

void put_op(Encoder& out, const Op& op) {
    out.u16(static_cast<std::uint16_t>(op.code));
    out.u8(static_cast<std::uint8_t>(op.inputs.size()));
    out.u8(static_cast<std::uint8_t>(op.outputs.size()));
    for (std::size_t i = 0; i < kOpInputsMax; ++i)
        out.u32(i < op.inputs.size() ? op.inputs[i] : kNoSlot);
    for (std::size_t i = 0; i < kOpOutputsMax; ++i)
        out.u32(i < op.outputs.size() ? op.outputs[i] : kNoSlot);
    for (const std::uint64_t attribute : op.attributes)
        out.u64(attribute);
}

void put_output(Encoder& out, const Output& output) {
    put_name(out, output.name);
    out.u32(output.slot);
    put_zeros(out, kOutputTailBytes);
}

Error malformed(const std::string& what) {
    return fail(ErrorCode::kMalformed, "program: " + what);
}

Status expect_zeros(Decoder& in, std::size_t count) {
    GYM_TRY(const ByteView bytes, in.raw(count));
    if (std::any_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte != 0; }))
        return malformed("padding that is not zero");
    return {};
}

Result<std::string> get_name(Decoder& in) {
    GYM_TRY(const ByteView bytes, in.raw(kNameBytesMax));
    const auto end = std::find(bytes.begin(), bytes.end(), 0);
    if (std::any_of(end, bytes.end(), [](std::uint8_t byte) { return byte != 0; }))
        return malformed("a name with bytes behind its end");
    return std::string(bytes.begin(), end);
}

struct SlotRecord {
    Slot slot;
    Digest root;
};

Result<SlotRecord> get_slot(Decoder& in) {
    SlotRecord record;
    Slot& slot = record.slot;
    GYM_TRY(const std::uint8_t kind, in.u8());
    GYM_TRY(const std::uint8_t dtype, in.u8());
    GYM_TRY(const std::uint8_t rank, in.u8());
    GYM_TRY(const std::uint8_t init, in.u8());
    slot.kind = static_cast<SlotKind>(kind);
    GYM_TRY(slot.dtype, commit::dtype_from(dtype));
    slot.init.kind = static_cast<Init::Kind>(init);
    if (rank > kRankMax) return malformed("a rank above 5");
    for (std::size_t i = 0; i < kRankMax; ++i) {
        GYM_TRY(const std::uint32_t dim, in.u32());
        if (i < rank)
            slot.dims.push_back(dim);
        else if (dim != 0)
            return malformed("a dim beyond the rank");
    }
    GYM_TRY(slot.next, in.u32());
    GYM_TRY(slot.init.bits, in.u32());
    GYM_TRY(slot.name, get_name(in));
    GYM_TRY(record.root, in.digest());
    GYM_CHECK(expect_zeros(in, kSlotTailBytes));
    if (slot.kind != SlotKind::kConstant && !record.root.is_zero())
        return malformed("a root for a slot that is not a constant");
    return record;
}

Status get_ids(Decoder& in, std::size_t count, std::size_t places, std::vector<SlotId>& ids) {
    if (count > places) return malformed("an op with too many operands");
    for (std::size_t i = 0; i < places; ++i) {
        GYM_TRY(const SlotId id, in.u32());
        if (i < count)
            ids.push_back(id);
        else if (id != kNoSlot)
            return malformed("an operand beyond the count");
    }
    return {};
}

Result<Op> get_op(Decoder& in) {
    Op op;
    GYM_TRY(const std::uint16_t number, in.u16());
    GYM_TRY(const std::uint8_t inputs, in.u8());
    GYM_TRY(const std::uint8_t outputs, in.u8());
    if (find_opcode(number) == nullptr)
        return malformed("unknown opcode " + std::to_string(number));
    op.code = static_cast<Opcode>(number);
    GYM_CHECK(get_ids(in, inputs, kOpInputsMax, op.inputs));
    GYM_CHECK(get_ids(in, outputs, kOpOutputsMax, op.outputs));
    for (std::uint64_t& attribute : op.attributes) {
        GYM_TRY(attribute, in.u64());
    }
    return op;
}

Result<Output> get_output(Decoder& in) {
    Output output;
    GYM_TRY(output.name, get_name(in));
    GYM_TRY(output.slot, in.u32());
    GYM_CHECK(expect_zeros(in, kOutputTailBytes));
    return output;
}

/// The constants' bytes, in slot order; each must hash to the root in its record.
Status get_values(Decoder& in, std::vector<SlotRecord>& records) {
    std::uint64_t total = 0;
    for (SlotRecord& record : records) {
        if (record.slot.kind != SlotKind::kConstant) continue;
        const std::uint64_t elements = element_count(record.slot.dims);
        if (elements > kConstantBytesMax || (total += size_bytes(record.slot)) > kConstantBytesMax)
            return fail(ErrorCode::kOutOfRange, "program: constants take more than 2^26 bytes");
        GYM_TRY(const ByteView bytes, in.raw(size_bytes(record.slot)));
        record.slot.value.assign(bytes.begin(), bytes.end());
        if (value_root(record.slot) != record.root)
            return malformed("constant '" + record.slot.name + "' does not hash to its root");
    }
    return {};
}

Digest records_root(std::size_t count, std::size_t record_bytes, ByteView bytes) {
    const std::uint64_t dims[] = {count, record_bytes};
    return commit::tensor_root(DType::kU8, dims, bytes);
}

}  // namespace

Bytes encode(const Program& program) {
    Encoder out;
    out.raw(as_bytes(kMagic)).u32(program.numerics_version());
    out.u32(static_cast<std::uint32_t>(program.slots().size()));
    out.u32(static_cast<std::uint32_t>(program.ops().size()));
    out.u32(static_cast<std::uint32_t>(program.outputs().size()));
    for (const Slot& slot : program.slots())
        put_slot(out, slot);
    for (const Slot& slot : program.slots())
        out.raw(slot.value);
    for (const Op& op : program.ops())
        put_op(out, op);
    for (const Output& output : program.outputs())
        put_output(out, output);
    return out.take();
}

Result<Program> decode(ByteView bytes) {
    if (bytes.size() > kProgramBytesMax)
        return fail(ErrorCode::kOutOfRange, "program: more than 2^27 bytes");
    Decoder in(bytes);
    GYM_TRY(const ByteView magic, in.raw(kMagic.size()));
    if (!std::equal(magic.begin(), magic.end(), as_bytes(kMagic).begin()))
        return malformed("not a program file");
    ProgramParts parts;
    GYM_TRY(parts.numerics_version, in.u32());
    GYM_TRY(const std::uint32_t slots, in.count(kSlotsMax));
    GYM_TRY(const std::uint32_t ops, in.count(kOpsMax));
    GYM_TRY(const std::uint32_t outputs, in.count(kOutputsMax));
    std::vector<SlotRecord> records;
    for (std::uint32_t i = 0; i < slots; ++i) {
        GYM_TRY(SlotRecord record, get_slot(in));
        records.push_back(std::move(record));
    }
    GYM_CHECK(get_values(in, records));
    for (SlotRecord& record : records)
        parts.slots.push_back(std::move(record.slot));
    for (std::uint32_t i = 0; i < ops; ++i) {
        GYM_TRY(Op op, get_op(in));
        parts.ops.push_back(std::move(op));
    }
    for (std::uint32_t i = 0; i < outputs; ++i) {
        GYM_TRY(Output output, get_output(in));
        parts.outputs.push_back(std::move(output));
    }
    GYM_CHECK(in.expect_end());
    return Program::create(std::move(parts));
}

Digest program_root(const Program& program) {
    Encoder slots, ops, outputs, header;
    for (const Slot& slot : program.slots())
        put_slot(slots, slot);
    for (const Op& op : program.ops())
        put_op(ops, op);
    for (const Output& output : program.outputs())
        put_output(outputs, output);
    header.u8(kRootTag).u32(program.numerics_version());
    header.u32(static_cast<std::uint32_t>(program.slots().size()));
    header.u32(static_cast<std::uint32_t>(program.ops().size()));
    header.u32(static_cast<std::uint32_t>(program.outputs().size()));
    header.fixed(records_root(program.slots().size(), kSlotRecordBytes, slots.view()));
    header.fixed(records_root(program.ops().size(), kOpRecordBytes, ops.view()));
    header.fixed(records_root(program.outputs().size(), kOutputRecordBytes, outputs.view()));
    return commit::sha256(header.view());
}

}  // namespace gym::program
