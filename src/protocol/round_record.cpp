#include "gym/protocol/round_record.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "gym/commit/sha256.hpp"

namespace gym::protocol {
namespace {

constexpr std::uint16_t kFormat = 2;
/// Least size of a record in the contracts (RoundRecords.sol).
constexpr std::size_t kChainBytesMin = 400;

Error unknown_format(std::uint16_t format) {
    return fail(ErrorCode::kMalformed, "round record: unknown format " + std::to_string(format));
}

void encode_roots(const RoundRecord& record, commit::Encoder& out) {
    for (const Digest* root :
         {&record.previous_record, &record.base_state_root, &record.momentum_root,
          &record.program_root, &record.aggregate_program_root, &record.evaluate_program_root,
          &record.dataset_root, &record.job_seed, &record.trace_root, &record.initial_state_root})
        out.fixed(*root);
}

Status decode_roots(commit::Decoder& in, RoundRecord& record) {
    for (Digest* root :
         {&record.previous_record, &record.base_state_root, &record.momentum_root,
          &record.program_root, &record.aggregate_program_root, &record.evaluate_program_root,
          &record.dataset_root, &record.job_seed, &record.trace_root, &record.initial_state_root}) {
        GYM_TRY(*root, in.digest());
    }
    return {};
}

Status decode_scalars(commit::Decoder& in, RoundRecord& record) {
    GYM_TRY(record.steps, in.u32());
    GYM_TRY(record.checkpoint_every, in.u32());
    GYM_TRY(record.tokens_per_step, in.u64());
    GYM_TRY(record.flops_per_step, in.u64());
    GYM_TRY(record.delta_codec, in.u16());
    GYM_TRY(record.sampling.floor_ppm, in.u32());
    GYM_TRY(record.sampling.aggregate_ppm, in.u32());
    return {};
}

Status decode_slots(commit::Decoder& in, RoundRecord& record) {
    GYM_TRY(const std::uint32_t count, in.count(kSlotsMax));
    for (std::uint32_t i = 0; i < count; ++i) {
        SlotAssignment slot;
        GYM_TRY(slot.slot, in.u32());
        GYM_TRY(slot.worker, in.address());
        GYM_TRY(slot.sampling_rate_ppm, in.u32());
        record.slots.push_back(slot);
    }
    return {};
}

Error invalid(const std::string& what) {
    return fail(ErrorCode::kInvalidArgument, "round record: " + what);
}

template <class Item>
bool ascending_by_slot(const std::vector<Item>& items) {
    return std::adjacent_find(items.begin(), items.end(), [](const Item& a, const Item& b) {
               return a.slot >= b.slot;
           }) == items.end();
}

Status validate_slots(const RoundRecord& record) {
    if (record.slots.size() > kSlotsMax) return invalid("too many slots");
    if (!ascending_by_slot(record.slots)) return invalid("slots are not in ascending order");
    std::set<Address> workers;
    for (const SlotAssignment& slot : record.slots) {
        const std::string name = "slot " + std::to_string(slot.slot);
        if (slot.slot >= kSlotsMax) return invalid(name + " is out of range");
        if (slot.worker.is_zero()) return invalid(name + " has no worker");
        if (!workers.insert(slot.worker).second)
            return invalid("worker " + slot.worker.hex() + " has two slots");
        if (slot.sampling_rate_ppm < record.sampling.floor_ppm || slot.sampling_rate_ppm > kPpm)
            return invalid(name + " has a sampling rate outside [floor, 1]");
    }
    return {};
}

}  // namespace

const SlotAssignment* RoundRecord::find_slot(std::uint32_t slot) const noexcept {
    const auto found = std::lower_bound(
        slots.begin(), slots.end(), slot,
        [](const SlotAssignment& item, std::uint32_t wanted) { return item.slot < wanted; });
    return found != slots.end() && found->slot == slot ? &*found : nullptr;
}

void encode_included(std::span<const IncludedDelta> included, commit::Encoder& out) {
    out.u32(static_cast<std::uint32_t>(included.size()));
    for (const IncludedDelta& delta : included)
        out.u32(delta.slot).fixed(delta.unit).fixed(delta.delta_root);
}

Result<std::vector<IncludedDelta>> decode_included(commit::Decoder& in) {
    GYM_TRY(const std::uint32_t count, in.count(kSlotsMax));
    std::vector<IncludedDelta> included;
    for (std::uint32_t i = 0; i < count; ++i) {
        IncludedDelta delta;
        GYM_TRY(delta.slot, in.u32());
        GYM_TRY(delta.unit, in.digest());
        GYM_TRY(delta.delta_root, in.digest());
        included.push_back(delta);
    }
    return included;
}

Bytes encode(const RoundRecord& record) {
    commit::Encoder out;
    out.u16(kFormat).fixed(record.job_id).u64(record.round);
    encode_roots(record, out);
    out.u32(record.steps).u32(record.checkpoint_every);
    out.u64(record.tokens_per_step).u64(record.flops_per_step).u16(record.delta_codec);
    out.u32(record.sampling.floor_ppm).u32(record.sampling.aggregate_ppm);
    out.u32(static_cast<std::uint32_t>(record.slots.size()));
    for (const SlotAssignment& slot : record.slots)
        out.u32(slot.slot).fixed(slot.worker).u32(slot.sampling_rate_ppm);
    encode_included(record.included, out);
    return out.take();
}

Result<RoundRecord> decode_round_record(ByteView bytes) {
    commit::Decoder in(bytes);
    RoundRecord record;
    GYM_TRY(const std::uint16_t format, in.u16());
    if (format != kFormat) return unknown_format(format);
    GYM_TRY(record.job_id, in.digest());
    GYM_TRY(record.round, in.u64());
    GYM_CHECK(decode_roots(in, record));
    GYM_CHECK(decode_scalars(in, record));
    GYM_CHECK(decode_slots(in, record));
    GYM_TRY(record.included, decode_included(in));
    GYM_CHECK(in.expect_end());
    if (const Status valid = validate(record); !valid.ok())
        return fail(ErrorCode::kMalformed, valid.error().message);
    return record;
}

Status validate(const RoundRecord& record) {
    if (record.round == 0) return invalid("rounds count from 1");
    if (record.steps == 0) return invalid("no steps");
    if (record.checkpoint_every == 0) return invalid("no checkpoint interval");
    if (record.sampling.floor_ppm > kPpm || record.sampling.aggregate_ppm > kPpm)
        return invalid("a sampling rate is above 1");
    if (record.round == 1 && !record.included.empty()) return invalid("round 1 follows no deltas");
    if (record.included.size() > kSlotsMax) return invalid("too many included deltas");
    if (!ascending_by_slot(record.included))
        return invalid("included deltas are not in ascending order");
    const std::uint64_t size = round_record_bytes(record.slots.size(), record.included.size());
    if (size > kRoundRecordBytesMax)
        return invalid(std::to_string(size) + " bytes for " + std::to_string(record.slots.size()) +
                       " slots and " + std::to_string(record.included.size()) +
                       " included deltas; games about it can be opened with at most " +
                       std::to_string(kRoundRecordBytesMax) + ": use fewer slots");
    return validate_slots(record);
}

Digest hash(const RoundRecord& record) {
    return hash_round_record(encode(record));
}

Digest hash_round_record(ByteView bytes) {
    commit::Hasher hasher;
    return hasher.update(as_bytes("gym.round.v1")).update(bytes).finish();
}

Result<RoundRecordHead> read_round_record_head(ByteView bytes) {
    if (bytes.size() < kChainBytesMin || bytes.size() > kRoundRecordBytesMax)
        return fail(ErrorCode::kMalformed, "round record: " + std::to_string(bytes.size()) +
                                               " bytes, contracts take " +
                                               std::to_string(kChainBytesMin) + " to " +
                                               std::to_string(kRoundRecordBytesMax));
    commit::Decoder in(bytes);
    RoundRecordHead head;
    GYM_TRY(const std::uint16_t format, in.u16());
    if (format != kFormat) return unknown_format(format);
    GYM_TRY(head.job_id, in.digest());
    GYM_TRY(head.round, in.u64());
    GYM_TRY(head.previous_record, in.digest());
    GYM_TRY(head.base_state_root, in.digest());
    GYM_TRY(head.momentum_root, in.digest());
    return head;
}

}  // namespace gym::protocol
