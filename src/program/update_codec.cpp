#include "gym/program/update_codec.hpp"

#include <string>

#include "gym/program/delta_codec.hpp"
#include "little_endian.hpp"

namespace gym::program {

Result<UpdateCodec> update_codec(const Program& train) {
    const SlotId id = train.find_slot(kUpdateCodec);
    if (id == kNoSlot) return UpdateCodec::kNone;
    const Slot& slot = train.slot(id);
    const bool is_number = slot.kind == SlotKind::kConstant && slot.dtype == DType::kF32 &&
                           element_count(slot.dims) == 1;
    if (!is_number || f32_at(slot.value, 0) != 1.0F)
        return fail(ErrorCode::kInvalidArgument,
                    "the program's constant 'update.codec' names no codec that this version knows; "
                    "known is 1, and a program without the constant publishes no update");
    GYM_TRY(const DeltaCodec deltas, delta_codec(train));
    if (deltas == DeltaCodec::kDense) return UpdateCodec::kDense;
    return fail(ErrorCode::kInvalidArgument,
                "a program with the constant 'update.codec' needs 'delta.codec' 1, too");
}

std::string_view name_of(UpdateCodec codec) {
    return codec == UpdateCodec::kDense ? "dense-4bit" : "none";
}

Result<UpdateCodec> update_codec_named(std::string_view name) {
    for (const UpdateCodec codec : {UpdateCodec::kNone, UpdateCodec::kDense})
        if (name == name_of(codec)) return codec;
    return fail(ErrorCode::kInvalidArgument,
                "update is none or dense-4bit, not '" + std::string(name) + "'");
}

}  // namespace gym::program
