#include <string>

#include "gym/codec/row_layout.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/common/assert.hpp"
#include "gym/dispute/delta_layout.hpp"
#include "gym/dispute/trace_program.hpp"

namespace gym::dispute {
namespace {

using commit::Decoder;
using commit::Encoder;
using program::DeltaCodec;
using program::UpdateCodec;

Error malformed(const std::string& what) {
    return fail(ErrorCode::kMalformed, "a trace record: " + what);
}

void put(Encoder& out, const Shape& shape) {
    out.u8(static_cast<std::uint8_t>(shape.dtype));
    out.u8(static_cast<std::uint8_t>(shape.dims.size()));
    for (const std::uint32_t dim : program_dims(shape))
        out.u32(dim);
}

Result<Shape> get_shape(Decoder& in) {
    Shape shape;
    GYM_TRY(const std::uint8_t dtype, in.u8());
    GYM_TRY(shape.dtype, commit::dtype_from(dtype));
    GYM_TRY(const std::uint8_t rank, in.u8());
    if (rank == 0 || rank > program::kRankMax) return malformed("rank must be 1 to 5");
    std::uint64_t count = 1;
    for (std::uint8_t k = 0; k < rank; ++k) {
        GYM_TRY(const std::uint32_t dim, in.u32());
        if (dim == 0 || dim > program::kSlotElementsMax / count)
            return malformed("a tensor has 1 to 2^31 elements");
        count *= dim;
        shape.dims.push_back(dim);
    }
    return shape;
}

void put(Encoder& out, const Source& source) {
    out.u8(static_cast<std::uint8_t>(source.kind));
    if (source.kind == Source::Kind::kConstant)
        out.fixed(source.root);
    else
        out.u32(source.index);
}

Result<Source> get_source(Decoder& in) {
    Source source;
    GYM_TRY(const std::uint8_t kind, in.u8());
    if (kind < static_cast<std::uint8_t>(Source::Kind::kPrimitive) ||
        kind > static_cast<std::uint8_t>(Source::Kind::kConstant))
        return malformed("unknown source");
    source.kind = static_cast<Source::Kind>(kind);
    if (source.kind == Source::Kind::kConstant) {
        GYM_TRY(source.root, in.digest());
    } else {
        GYM_TRY(source.index, in.u32());
    }
    return source;
}

Digest tagged(std::string_view tag, ByteView bytes) {
    commit::Hasher hasher;
    return hasher.update(as_bytes(tag)).update(bytes).finish();
}

/// Every number of a header, in the order of its encoding.
template <class Header, class F>
void each_number(Header& h, F f) {
    for (auto* number :
         {&h.numerics_version, &h.input_leaves, &h.leaves, &h.primitives, &h.state_slots,
          &h.gradients, &h.loss, &h.grad_norm, &h.skipped, &h.windows, &h.window_tokens, &h.stride,
          &h.vocabulary, &h.classes, &h.parameters})
        f(*number);
    f(h.delta_bytes);
    f(h.outer_learning_rate);
    f(h.outer_momentum);
}

template <class Header, class F>
void each_root(Header& h, F f) {
    for (auto* root : {&h.gradients_root, &h.leaves_root, &h.primitives_root, &h.state_root})
        f(*root);
}

Status check_counts(const TraceHeader& h) {
    if (h.numerics_version != program::kNumericsVersion) return malformed("numerics version");
    if (h.primitives > program::kOpsMax || h.leaves > program::kSlotsMax ||
        h.state_slots > program::kSlotsMax || h.gradients > program::kOutputsMax)
        return malformed("more of something than a program can have");
    if (h.input_leaves > h.leaves) return malformed("more inputs than leaves");
    for (const std::uint32_t leaf : {h.loss, h.grad_norm, h.skipped})
        if (leaf != kNoLeaf && leaf >= h.leaves)
            return malformed("names a leaf that does not exist");
    if (h.parameters > h.state_slots) return malformed("more parameters than state slots");
    if (h.delta_bytes > kDeltaBytesMax) return malformed("a delta has at most 2^40 bytes");
    if (h.delta_codec == DeltaCodec::kDense) {
        if (h.delta_bytes < codec::kRowBytes) return malformed("a delta has a head of one row");
    } else if (h.delta_bytes < kDeltaHeadBytes || h.delta_bytes % sizeof(float) != 0) {
        return malformed("a delta has a head of 16 bytes and then floats");
    }
    return {};
}

Status check_delta_offset(const StateRecord& record, DeltaCodec codec) {
    const std::uint64_t offset = record.delta_offset;
    if (offset == 0 && record.parameter != 0)
        return malformed("a parameter's number is out of range");
    if (offset == 0) return {};
    if (record.shape.dtype != program::DType::kF32) return malformed("a parameter is f32");
    // A shape has at most 2^31 elements: no sum overflows.
    if (offset > kDeltaBytesMax || !is_delta_place(codec, offset) ||
        delta_end(codec, record) > kDeltaBytesMax)
        return malformed("a place that no delta has");
    return {};
}

Status check_path(const Digest& root, std::uint32_t count, const RecordProof& proof,
                  const Digest& leaf) {
    return commit::merkle_verify(root, {proof.index, count}, leaf, proof.path);
}

}  // namespace

Bytes encode(const PrimitiveRecord& record) {
    Encoder out;
    out.u16(static_cast<std::uint16_t>(record.code));
    put(out, record.output);
    for (const std::uint64_t attribute : record.attributes)
        out.u64(attribute);
    out.u8(static_cast<std::uint8_t>(record.inputs.size()));
    for (const Operand& operand : record.inputs) {
        put(out, operand.source);
        put(out, operand.shape);
    }
    return out.take();
}

Result<PrimitiveRecord> decode_primitive(ByteView bytes) {
    Decoder in(bytes);
    PrimitiveRecord record;
    GYM_TRY(const std::uint16_t number, in.u16());
    const program::OpcodeInfo* opcode = program::find_opcode(number);
    if (opcode == nullptr || opcode->macro) return malformed("not a primitive's opcode");
    record.code = opcode->code;
    GYM_TRY(record.output, get_shape(in));
    for (std::uint64_t& attribute : record.attributes) {
        GYM_TRY(attribute, in.u64());
    }
    GYM_TRY(const std::uint8_t inputs, in.u8());
    if (inputs < opcode->inputs_min || inputs > opcode->inputs_max)
        return malformed("wrong number of operands");
    for (std::uint8_t k = 0; k < inputs; ++k) {
        Operand operand;
        GYM_TRY(operand.source, get_source(in));
        GYM_TRY(operand.shape, get_shape(in));
        record.inputs.push_back(std::move(operand));
    }
    GYM_CHECK(in.expect_end());
    return record;
}

Bytes encode(const LeafRecord& record) {
    Encoder out;
    out.u8(static_cast<std::uint8_t>(record.kind));
    put(out, record.shape);
    if (record.kind == LeafRecord::Kind::kComputed)
        out.u32(record.first).u32(record.count).u32(record.writer);
    return out.take();
}

Result<LeafRecord> decode_leaf(ByteView bytes) {
    Decoder in(bytes);
    LeafRecord record;
    GYM_TRY(const std::uint8_t kind, in.u8());
    if (kind > static_cast<std::uint8_t>(LeafRecord::Kind::kOther))
        return malformed("unknown kind of leaf");
    record.kind = static_cast<LeafRecord::Kind>(kind);
    GYM_TRY(record.shape, get_shape(in));
    if (record.kind == LeafRecord::Kind::kComputed) {
        GYM_TRY(record.first, in.u32());
        GYM_TRY(record.count, in.u32());
        GYM_TRY(record.writer, in.u32());
        if (record.count > program::kOpsMax || record.first > program::kOpsMax - record.count ||
            record.writer >= record.count)
            return malformed("primitives that no macro op has");
    }
    GYM_CHECK(in.expect_end());
    return record;
}

Bytes encode(const StateRecord& record) {
    Encoder out;
    put(out, record.shape);
    put(out, record.next);
    out.u64(record.delta_offset).u32(record.parameter);
    return out.take();
}

Result<StateRecord> decode_state_record(ByteView bytes, DeltaCodec codec) {
    Decoder in(bytes);
    StateRecord record;
    GYM_TRY(record.shape, get_shape(in));
    GYM_TRY(record.next, get_source(in));
    if (record.next.kind != Source::Kind::kLeaf && record.next.kind != Source::Kind::kState)
        return malformed("state comes from a leaf or from state");
    GYM_TRY(record.delta_offset, in.u64());
    GYM_TRY(record.parameter, in.u32());
    GYM_CHECK(check_delta_offset(record, codec));
    GYM_CHECK(in.expect_end());
    return record;
}

Bytes encode(const TraceHeader& header) {
    Encoder out;
    each_number(header, [&](auto number) {
        if constexpr (sizeof number == sizeof(std::uint64_t))
            out.u64(number);
        else
            out.u32(number);
    });
    each_root(header, [&](const Digest& root) { out.fixed(root); });
    if (header.delta_codec != DeltaCodec::kFloat)
        out.u16(static_cast<std::uint16_t>(header.update_codec))
            .u16(static_cast<std::uint16_t>(header.delta_codec));
    return out.take();
}

Result<TraceHeader> decode_trace_header(ByteView bytes) {
    Decoder in(bytes);
    TraceHeader header;
    Status status;
    const auto read = [&](auto& to, auto value) {
        if (!status.ok()) return;
        if (value.ok())
            to = *value;
        else
            status = value.error();
    };
    each_number(header, [&](auto& number) {
        if constexpr (sizeof number == sizeof(std::uint64_t))
            read(number, in.u64());
        else
            read(number, in.u32());
    });
    each_root(header, [&](Digest& root) { read(root, in.digest()); });
    GYM_CHECK(status);
    if (in.remaining() > 0) {
        GYM_TRY(const std::uint16_t update, in.u16());
        GYM_TRY(const std::uint16_t delta, in.u16());
        if (delta != static_cast<std::uint16_t>(DeltaCodec::kDense))
            return malformed("unknown delta codec");
        if (update > static_cast<std::uint16_t>(UpdateCodec::kDense))
            return malformed("unknown update codec");
        header.delta_codec = DeltaCodec::kDense;
        header.update_codec = static_cast<UpdateCodec>(update);
    }
    GYM_CHECK(in.expect_end());
    GYM_CHECK(check_counts(header));
    return header;
}

Digest primitive_digest(ByteView record) {
    return tagged("gym.primitive.v1", record);
}
Digest leaf_digest(ByteView record) {
    return tagged("gym.trace_leaf.v1", record);
}
Digest state_record_digest(ByteView record) {
    return tagged("gym.state_slot.v1", record);
}
Digest gradient_digest(std::uint32_t leaf) {
    Encoder out;
    return tagged("gym.gradient_leaf.v1", out.u32(leaf).view());
}
Digest trace_root(const TraceHeader& header) {
    return tagged("gym.trace_program.v1", encode(header));
}

Digest tensor_digest(const Shape& shape, const Digest& tree_root) {
    return commit::tensor_digest(shape.dtype, shape.dims, tree_root);
}
Shape delta_shape(const TraceHeader& header) {
    return {program::DType::kU8, {header.delta_bytes}};
}
std::uint64_t element_count(const Shape& shape) {
    std::uint64_t count = 1;
    for (const std::uint64_t dim : shape.dims)
        count *= dim;
    return count;
}
std::uint64_t size_bytes(const Shape& shape) {
    return element_count(shape) * commit::size_bytes(shape.dtype);
}
Shape shape_of(const program::Slot& slot) {
    return {slot.dtype, {slot.dims.begin(), slot.dims.end()}};
}
program::Dims program_dims(const Shape& shape) {
    program::Dims dims;
    for (const std::uint64_t dim : shape.dims) {
        GYM_ASSERT(dim <= UINT32_MAX, "a program's tensor");
        dims.push_back(static_cast<std::uint32_t>(dim));
    }
    return dims;
}

Result<PrimitiveRecord> check_primitive(const TraceHeader& header, const RecordProof& proof) {
    GYM_CHECK(check_path(header.primitives_root, header.primitives, proof,
                         primitive_digest(proof.record)));
    return decode_primitive(proof.record);
}
Result<LeafRecord> check_leaf(const TraceHeader& header, const RecordProof& proof) {
    GYM_CHECK(check_path(header.leaves_root, header.leaves, proof, leaf_digest(proof.record)));
    return decode_leaf(proof.record);
}
Result<StateRecord> check_state_record(const TraceHeader& header, const RecordProof& proof) {
    GYM_CHECK(check_path(header.state_root, header.state_slots, proof,
                         state_record_digest(proof.record)));
    return decode_state_record(proof.record, header.delta_codec);
}
Result<std::uint32_t> check_gradient(const TraceHeader& header, const RecordProof& proof) {
    Decoder in(proof.record);
    GYM_TRY(const std::uint32_t leaf, in.u32());
    GYM_CHECK(in.expect_end());
    GYM_CHECK(check_path(header.gradients_root, header.gradients, proof, gradient_digest(leaf)));
    return leaf;
}

}  // namespace gym::dispute
