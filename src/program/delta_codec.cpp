#include "gym/program/delta_codec.hpp"

#include <string>

#include "little_endian.hpp"

namespace gym::program {

Result<DeltaCodec> delta_codec(const Program& train) {
    const SlotId id = train.find_slot(kDeltaCodec);
    if (id == kNoSlot) return DeltaCodec::kFloat;
    const Slot& slot = train.slot(id);
    const bool is_number = slot.kind == SlotKind::kConstant && slot.dtype == DType::kF32 &&
                           element_count(slot.dims) == 1;
    if (is_number && f32_at(slot.value, 0) == 1.0F) return DeltaCodec::kDense;
    return fail(ErrorCode::kInvalidArgument,
                "the program's constant 'delta.codec' names no codec that this version knows; "
                "known is 1, and a program without the constant has codec 0");
}

std::string_view name_of(DeltaCodec codec) {
    return codec == DeltaCodec::kDense ? "dense-4bit" : "none";
}

Result<DeltaCodec> delta_codec_named(std::string_view name) {
    for (const DeltaCodec codec : {DeltaCodec::kFloat, DeltaCodec::kDense})
        if (name == name_of(codec)) return codec;
    return fail(ErrorCode::kInvalidArgument,
                "compression is none or dense-4bit, not '" + std::string(name) + "'");
}

}  // namespace gym::program
