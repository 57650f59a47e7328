#include "gym/protocol/round_record.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "gym/commit/merkle.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/assert.hpp"
#include "slot_terms.hpp"

namespace gym::protocol {
namespace {

/// Of every record; one more if it takes late commitments, two more if it subtracts.
constexpr std::uint16_t kFormat = 3;
constexpr std::uint16_t kTakingLate = 1;
constexpr std::uint16_t kSubtracting = 2;

/// Kinds of included deltas; both: a held one is withdrawn.
constexpr std::uint8_t kHeld = 1;
constexpr std::uint8_t kWithdrawn = 2;

Error unknown_format(std::uint16_t format) {
    return fail(ErrorCode::kMalformed, "round record: unknown format " + std::to_string(format));
}

template <class Terms>
auto roots_of(Terms& terms) {
    return std::array{&terms.previous_record,
                      &terms.base_state_root,
                      &terms.momentum_root,
                      &terms.program_root,
                      &terms.aggregate_program_root,
                      &terms.evaluate_program_root,
                      &terms.dataset_root,
                      &terms.job_seed,
                      &terms.trace_root,
                      &terms.initial_state_root};
}

void encode_head(const RoundHead& head, commit::Encoder& out) {
    const int format =
        kFormat + (head.accept_late ? kTakingLate : 0) + (head.subtract ? kSubtracting : 0);
    out.u16(static_cast<std::uint16_t>(format)).fixed(head.job_id).u64(head.round);
    for (const Digest* root : roots_of(head))
        out.fixed(*root);
    out.u32(head.checkpoint_every).u64(head.tokens_per_step).u64(head.flops_per_step);
    out.u16(head.delta_codec);
    out.u32(head.sampling.floor_ppm).u32(head.sampling.aggregate_ppm);
    out.u32(head.slots).fixed(head.slots_root);
    out.u32(head.included).fixed(head.included_root);
}

Result<RoundHead> decode_head(commit::Decoder& in) {
    RoundHead head;
    GYM_TRY(const std::uint16_t format, in.u16());
    if (format < kFormat || format > kFormat + kTakingLate + kSubtracting)
        return unknown_format(format);
    head.accept_late = ((format - kFormat) & kTakingLate) != 0;
    head.subtract = ((format - kFormat) & kSubtracting) != 0;
    GYM_TRY(head.job_id, in.digest());
    GYM_TRY(head.round, in.u64());
    for (Digest* root : roots_of(head)) {
        GYM_TRY(*root, in.digest());
    }
    GYM_TRY(head.checkpoint_every, in.u32());
    GYM_TRY(head.tokens_per_step, in.u64());
    GYM_TRY(head.flops_per_step, in.u64());
    GYM_TRY(head.delta_codec, in.u16());
    GYM_TRY(head.sampling.floor_ppm, in.u32());
    GYM_TRY(head.sampling.aggregate_ppm, in.u32());
    GYM_TRY(head.slots, in.u32());
    GYM_TRY(head.slots_root, in.digest());
    GYM_TRY(head.included, in.u32());
    GYM_TRY(head.included_root, in.digest());
    return head;
}

void encode_delta(const IncludedDelta& delta, commit::Encoder& out) {
    const int kind = (delta.held ? kHeld : 0) + (delta.is_withdrawn() ? kWithdrawn : 0);
    out.u32(delta.slot).fixed(delta.unit).fixed(delta.delta_root);
    out.u8(static_cast<std::uint8_t>(kind));
    if (delta.is_withdrawn()) out.u16(delta.age);
}

Result<IncludedDelta> decode_delta(commit::Decoder& in) {
    IncludedDelta delta;
    GYM_TRY(delta.slot, in.u32());
    GYM_TRY(delta.unit, in.digest());
    GYM_TRY(delta.delta_root, in.digest());
    GYM_TRY(const std::uint8_t kind, in.u8());
    if (kind > kHeld + kWithdrawn)
        return fail(ErrorCode::kMalformed, "included deltas have no kind " + std::to_string(kind));
    delta.held = (kind & kHeld) != 0;
    if ((kind & kWithdrawn) == 0) return delta;
    GYM_TRY(delta.age, in.u16());
    if (delta.age == 0)
        return fail(ErrorCode::kMalformed, "a delta is withdrawn that went in nowhere before");
    return delta;
}

/// In a record's list.
auto place_of(const IncludedDelta& delta) {
    return std::tuple(delta.is_withdrawn(), delta.held, delta.age, delta.slot);
}

Error malformed(const std::string& what) {
    return fail(ErrorCode::kMalformed, "round record: " + what);
}

std::vector<Digest> slot_leaves(const RoundRecord& record) {
    std::vector<Digest> leaves;
    leaves.reserve(record.slots.size());
    for (const SlotAssignment& slot : record.slots)
        leaves.push_back(slot_leaf(slot));
    return leaves;
}

std::vector<Digest> included_leaves(const RoundRecord& record) {
    std::vector<Digest> leaves;
    leaves.reserve(record.included.size());
    for (const IncludedDelta& delta : record.included)
        leaves.push_back(included_leaf(delta));
    return leaves;
}

Error invalid(const std::string& what) {
    return fail(ErrorCode::kInvalidArgument, "round record: " + what);
}

Status validate_withdrawn(const RoundRecord& record) {
    const std::size_t withdrawn = withdrawn_of(record.included);
    if (withdrawn == 0) return {};
    if (!record.subtract) return invalid("it has withdrawn deltas, and its job subtracts none");
    if (withdrawn > kWithdrawnMax)
        return invalid("more than " + std::to_string(kWithdrawnMax) + " deltas are withdrawn");
    if (withdrawn == record.included.size()) return invalid("all of its deltas are withdrawn");
    // It is listed by the record `age` rounds before, and round 1 lists none.
    for (const IncludedDelta& delta : record.included)
        if (delta.is_withdrawn() && record.round < std::uint64_t{delta.age} + (delta.held ? 3 : 2))
            return invalid("a delta is withdrawn that went in before there were rounds");
    return {};
}

Status validate_slots(const RoundRecord& record) {
    if (record.slots.size() > kSlotsMax) return invalid("too many slots");
    std::set<Address> workers;
    for (std::size_t i = 0; i < record.slots.size(); ++i) {
        const SlotAssignment& slot = record.slots[i];
        if (slot.slot != i) return invalid("slot " + std::to_string(i) + " has another number");
        GYM_CHECK(validate_slot(record, slot));
        if (!workers.insert(slot.worker).second)
            return invalid("worker " + slot.worker.hex() + " has two slots");
    }
    return {};
}

}  // namespace

void encode_terms(const SlotAssignment& slot, commit::Encoder& out) {
    out.fixed(slot.worker).u32(slot.sampling_rate_ppm).u32(slot.steps);
}

Result<SlotAssignment> decode_terms(std::uint32_t slot, commit::Decoder& in) {
    SlotAssignment terms;
    terms.slot = slot;
    GYM_TRY(terms.worker, in.address());
    GYM_TRY(terms.sampling_rate_ppm, in.u32());
    GYM_TRY(terms.steps, in.u32());
    return terms;
}

Status validate_terms(const RoundTerms& terms) {
    if (terms.round == 0) return invalid("rounds count from 1");
    if (terms.checkpoint_every == 0) return invalid("no checkpoint interval");
    if (terms.sampling.floor_ppm > kPpm || terms.sampling.aggregate_ppm > kPpm)
        return invalid("a sampling rate is above 1");
    return {};
}

Status validate_slot(const RoundTerms& terms, const SlotAssignment& slot) {
    const std::string name = "slot " + std::to_string(slot.slot);
    if (slot.steps == 0) return invalid(name + " has no steps");
    if (slot.worker.is_zero()) return invalid(name + " has no worker");
    if (slot.sampling_rate_ppm < terms.sampling.floor_ppm || slot.sampling_rate_ppm > kPpm)
        return invalid(name + " has a sampling rate outside [floor, 1]");
    return {};
}

const SlotAssignment* RoundRecord::find_slot(std::uint32_t slot) const noexcept {
    return slot < slots.size() ? &slots[slot] : nullptr;
}

void encode_included(std::span<const IncludedDelta> included, commit::Encoder& out) {
    out.u32(static_cast<std::uint32_t>(included.size()));
    for (const IncludedDelta& delta : included)
        encode_delta(delta, out);
}

Result<std::vector<IncludedDelta>> decode_included(commit::Decoder& in) {
    GYM_TRY(const std::uint32_t count, in.count(kSlotsMax));
    std::vector<IncludedDelta> included;
    for (std::uint32_t i = 0; i < count; ++i) {
        GYM_TRY(const IncludedDelta delta, decode_delta(in));
        included.push_back(delta);
    }
    return included;
}

bool is_in_order(std::span<const IncludedDelta> included) {
    return std::ranges::adjacent_find(included, [](const auto& a, const auto& b) {
               return place_of(a) >= place_of(b);
           }) == included.end();
}

std::size_t held_of(std::span<const IncludedDelta> included) {
    return static_cast<std::size_t>(std::ranges::count_if(
        included, [](const auto& delta) { return delta.held && !delta.is_withdrawn(); }));
}

std::size_t withdrawn_of(std::span<const IncludedDelta> included) {
    return static_cast<std::size_t>(std::ranges::count_if(included, &IncludedDelta::is_withdrawn));
}

Digest slot_leaf(const SlotAssignment& slot) {
    commit::Encoder out;
    out.raw(as_bytes("gym.slot_terms.v1")).u32(slot.slot);
    encode_terms(slot, out);
    return commit::sha256(out.view());
}

Digest included_leaf(const IncludedDelta& delta) {
    commit::Encoder out;
    out.raw(as_bytes("gym.included_delta.v1"));
    encode_delta(delta, out);
    return commit::sha256(out.view());
}

RoundHead head_of(const RoundRecord& record) {
    RoundHead head{record, {}, {}, {}, {}};
    head.slots = static_cast<std::uint32_t>(record.slots.size());
    head.slots_root = commit::merkle_root(slot_leaves(record));
    const std::vector<Digest> included = included_leaves(record);
    head.included = static_cast<std::uint32_t>(included.size());
    head.included_root = commit::merkle_root(included);
    return head;
}

Bytes encode(const RoundHead& head) {
    commit::Encoder out;
    encode_head(head, out);
    return out.take();
}

Result<RoundHead> decode_round_head(ByteView bytes) {
    commit::Decoder in(bytes);
    GYM_TRY(RoundHead head, decode_head(in));
    GYM_CHECK(in.expect_end());
    return head;
}

Result<RoundHead> read_round_head(ByteView record) {
    return decode_round_head(record.first(std::min(record.size(), kRoundHeadBytes)));
}

Bytes encode(const RoundRecord& record) {
    commit::Encoder out;
    encode_head(head_of(record), out);
    for (const SlotAssignment& slot : record.slots)
        encode_terms(slot, out);
    for (const IncludedDelta& delta : record.included)
        encode_delta(delta, out);
    return out.take();
}

Result<RoundRecord> decode_round_record(ByteView bytes) {
    commit::Decoder in(bytes);
    GYM_TRY(const RoundHead head, decode_head(in));
    const std::uint64_t least = round_record_bytes(head.slots, head.included);
    const std::uint64_t most =
        round_record_bytes(head.slots, head.included, head.subtract ? kWithdrawnMax : 0);
    if (head.slots > kSlotsMax || head.included > kSlotsMax || bytes.size() < least ||
        bytes.size() > most)
        return malformed(std::to_string(bytes.size()) + " bytes with " +
                         std::to_string(head.slots) + " slots and " +
                         std::to_string(head.included) + " included deltas");
    RoundRecord record{head, {}, {}};
    for (std::uint32_t i = 0; i < head.slots; ++i) {
        GYM_TRY(const SlotAssignment slot, decode_terms(i, in));
        record.slots.push_back(slot);
    }
    for (std::uint32_t i = 0; i < head.included; ++i) {
        GYM_TRY(const IncludedDelta delta, decode_delta(in));
        record.included.push_back(delta);
    }
    GYM_CHECK(in.expect_end());
    if (head_of(record) != head) return malformed("its lists are not those of its roots");
    if (const Status valid = validate(record); !valid.ok())
        return fail(ErrorCode::kMalformed, valid.error().message);
    return record;
}

Status validate(const RoundRecord& record) {
    GYM_CHECK(validate_terms(record));
    if (record.round == 1 && !record.included.empty()) return invalid("round 1 follows no deltas");
    if (record.included.size() > kSlotsMax) return invalid("too many included deltas");
    if (!is_in_order(record.included)) return invalid("included deltas are not in order");
    if (record.round == 2 && held_of(record.included) != 0)
        return invalid("round 2 follows no deltas that were held");
    GYM_CHECK(validate_withdrawn(record));
    return validate_slots(record);
}

Digest hash_round_head(ByteView record) {
    commit::Hasher hasher;
    hasher.update(as_bytes("gym.round.v1"));
    return hasher.update(record.first(std::min(record.size(), kRoundHeadBytes))).finish();
}

Digest hash(const RoundHead& head) {
    return hash_round_head(encode(head));
}

Digest hash(const RoundRecord& record) {
    return hash(head_of(record));
}

Result<ListedDelta> prove_included(const RoundRecord& record, const IncludedDelta& delta) {
    IncludedDelta listed = delta;
    listed.age = 0;
    const auto found = std::ranges::find(record.included, listed);
    if (found == record.included.end())
        return fail(ErrorCode::kNotFound, "the record of round " + std::to_string(record.round) +
                                              " does not list delta " + delta.delta_root.hex());
    ListedDelta out;
    out.index = static_cast<std::uint32_t>(found - record.included.begin());
    GYM_TRY(out.path, commit::merkle_prove(included_leaves(record), out.index));
    return out;
}

SlotProof prove_slot(const RoundRecord& record, std::uint32_t slot) {
    const SlotAssignment* const terms = record.find_slot(slot);
    if (terms == nullptr) return {};
    auto path = commit::merkle_prove(slot_leaves(record), slot);
    GYM_ASSERT(path.ok(), "the record has the slot");
    commit::Encoder out;
    encode_terms(*terms, out);
    return {out.take(), std::move(path).value()};
}

Result<std::optional<SlotAssignment>> read_slot(std::uint32_t slot, const SlotProof& proof) {
    if (proof.terms.empty() && proof.path.empty()) return std::optional<SlotAssignment>();
    commit::Decoder in(proof.terms);
    GYM_TRY(const SlotAssignment terms, decode_terms(slot, in));
    GYM_CHECK(in.expect_end());
    return std::optional(terms);
}

Result<std::optional<SlotAssignment>> open_slot(const RoundHead& head, std::uint32_t slot,
                                                const SlotProof& proof) {
    GYM_TRY(const auto terms, read_slot(slot, proof));
    if (terms.has_value() != (slot < head.slots))
        return fail(ErrorCode::kMismatch, "a round of " + std::to_string(head.slots) +
                                              " slots, and " + (terms ? "" : "no ") +
                                              "terms of slot " + std::to_string(slot));
    if (terms)
        GYM_CHECK(commit::merkle_verify(head.slots_root, {slot, head.slots}, slot_leaf(*terms),
                                        proof.path));
    return terms;
}

}  // namespace gym::protocol
