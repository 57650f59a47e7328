#include "gym/protocol/unit_record.hpp"

#include <string>
#include <utility>

#include "gym/common/assert.hpp"
#include "slot_terms.hpp"

namespace gym::protocol {
namespace {

std::vector<Digest> leaves_of(const std::vector<SlotAssignment>& slots) {
    std::vector<Digest> leaves;
    leaves.reserve(slots.size());
    for (const SlotAssignment& slot : slots)
        leaves.push_back(slot_leaf(slot));
    return leaves;
}

Error invalid(const std::string& what) {
    return fail(ErrorCode::kInvalidArgument, "unit record: " + what);
}

Status validate_assignment(const UnitRecord& record) {
    if (!record.assignment && record.path.empty()) return {};
    if (!record.assignment) return invalid("it has a path and no slot");
    const SlotAssignment& slot = *record.assignment;
    const std::string name = "slot " + std::to_string(slot.slot);
    if (slot.slot >= record.slots)
        return invalid("the round has " + std::to_string(record.slots) + " slots, and no " + name);
    if (const Status terms = validate_slot(record, slot); !terms.ok())
        return terms.error().in("unit record");
    const Status proven = commit::merkle_verify(record.slots_root, {slot.slot, record.slots},
                                                slot_leaf(slot), record.path);
    if (proven.ok()) return {};
    return invalid("the terms of " + name + " are not under the head's slots root " +
                   record.slots_root.hex() + ": " + proven.error().message);
}

}  // namespace

const SlotAssignment* UnitRecord::find_slot(std::uint32_t slot) const noexcept {
    return assignment && assignment->slot == slot ? &*assignment : nullptr;
}

UnitRecords::UnitRecords(const RoundRecord& record)
    : head_(head_of(record)), slots_(record.slots), tree_(leaves_of(record.slots)) {}

UnitRecord UnitRecords::of(std::uint32_t slot) const {
    UnitRecord out{head_, std::nullopt, {}};
    if (slot >= slots_.size()) return out;
    auto path = tree_.prove(slot);
    GYM_ASSERT(path.ok(), "the round has the slot");
    out.assignment = slots_[slot];
    out.path = std::move(path).value();
    return out;
}

UnitRecord unit_record(const RoundRecord& record, std::uint32_t slot) {
    return UnitRecords(record).of(slot);
}

Bytes encode(const UnitRecord& record) {
    commit::Encoder out;
    out.raw(encode(static_cast<const RoundHead&>(record)));
    if (!record.assignment) return out.take();
    out.u32(record.assignment->slot);
    encode_terms(*record.assignment, out);
    for (const Digest& sibling : record.path)
        out.fixed(sibling);
    return out.take();
}

Result<UnitRecord> decode_unit_record(ByteView bytes) {
    auto head = read_round_head(bytes);
    if (!head.ok()) return head.error().in("unit record");
    UnitRecord record{*head, std::nullopt, {}};
    if (bytes.size() > kRoundHeadBytes) {
        if (record.slots > kSlotsMax ||
            bytes.size() != unit_record_bytes(commit::tree_depth(record.slots)))
            return fail(ErrorCode::kMalformed, "unit record: " + std::to_string(bytes.size()) +
                                                   " bytes of a round of " +
                                                   std::to_string(record.slots) + " slots");
        commit::Decoder in(bytes.subspan(kRoundHeadBytes));
        GYM_TRY(const std::uint32_t slot, in.u32());
        GYM_TRY(record.assignment, decode_terms(slot, in));
        for (unsigned i = 0; i < commit::tree_depth(record.slots); ++i) {
            GYM_TRY(const Digest sibling, in.digest());
            record.path.push_back(sibling);
        }
        GYM_CHECK(in.expect_end());
    }
    if (const Status valid = validate(record); !valid.ok())
        return fail(ErrorCode::kMalformed, valid.error().message);
    return record;
}

Status validate(const UnitRecord& record) {
    GYM_CHECK(validate_terms(record));
    if (record.slots > kSlotsMax) return invalid("too many slots");
    if (record.included > kSlotsMax) return invalid("too many included deltas");
    if (record.round == 1 && record.included != 0) return invalid("round 1 follows no deltas");
    return validate_assignment(record);
}

SlotProof proof_of(const UnitRecord& record) {
    if (!record.assignment) return {};
    commit::Encoder out;
    encode_terms(*record.assignment, out);
    return {out.take(), record.path};
}

}  // namespace gym::protocol
