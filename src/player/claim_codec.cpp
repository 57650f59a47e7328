#include "gym/commit/codec.hpp"
#include "gym/player/claim.hpp"

namespace gym::player {
namespace {

// Formats 2 to 6 have the whole record where those of today have the unit's.
constexpr std::uint16_t kTrainUnitsOnly = 2;  ///< the format before there were other subjects
constexpr std::uint16_t kWholeRecords = 4;
constexpr std::uint16_t kFormat = 7;
constexpr std::uint16_t kOnLateUnit = 1;  ///< added: evidence in the next round's epoch
constexpr std::uint16_t kWithdrawing =
    2;  ///< added: an aggregate, with reasons of withdrawn deltas
constexpr std::uint32_t kPartBytesMax = 64U << 20;
constexpr std::uint32_t kPathMax = 64;

Result<Role> decode_role(commit::Decoder& in) {
    GYM_TRY(const std::uint8_t role, in.u8());
    if (role == static_cast<std::uint8_t>(Role::kDefend)) return Role::kDefend;
    if (role == static_cast<std::uint8_t>(Role::kChallenge)) return Role::kChallenge;
    return fail(ErrorCode::kMalformed, "a claim has no role " + std::to_string(role));
}

Result<Subject> decode_subject(commit::Decoder& in) {
    GYM_TRY(const std::uint8_t subject, in.u8());
    for (const Subject known : {Subject::kTrainUnit, Subject::kAggregate, Subject::kConflict,
                                Subject::kReport, Subject::kWithheld})
        if (subject == static_cast<std::uint8_t>(known)) return known;
    return fail(ErrorCode::kMalformed, "a claim has no subject " + std::to_string(subject));
}

/// What the number of a claim's format says of it.
struct Format {
    bool train_units_only = false;
    bool whole_records = false;
    bool late = false;
    bool withdrawing = false;
};

Result<Format> read_format(commit::Decoder& in) {
    GYM_TRY(const std::uint16_t number, in.u16());
    Format out;
    out.whole_records = number < kFormat;
    out.train_units_only = number == kTrainUnitsOnly;
    if (out.train_units_only) return out;
    const std::uint16_t plain = out.whole_records ? kWholeRecords : kFormat;
    if (number < plain || number > plain + kWithdrawing)
        return fail(ErrorCode::kMalformed, "claim format " + std::to_string(number));
    out.late = number == plain + kOnLateUnit;
    out.withdrawing = number == plain + kWithdrawing;
    return out;
}

/// The record of the unit; of a claim with a whole one this unit's part, and the whole one aside.
Status decode_record(commit::Decoder& in, const Format& format, Claim& claim) {
    GYM_TRY(const ByteView bytes, in.bytes(kPartBytesMax));
    if (!format.whole_records) {
        GYM_TRY(claim.evidence.record, protocol::decode_unit_record(bytes));
        return {};
    }
    GYM_TRY(protocol::RoundRecord whole, protocol::decode_round_record(bytes));
    claim.evidence.record = protocol::unit_record(whole, claim.key.slot);
    if (claim.subject == Subject::kAggregate) claim.round = std::move(whole);
    return {};
}

Status decode_evidence(commit::Decoder& in, const Format& format, Claim& claim) {
    game::Evidence& evidence = claim.evidence;
    evidence.late = format.late;
    GYM_TRY(const ByteView commitment, in.bytes(kPartBytesMax));
    GYM_TRY(evidence.commitment, protocol::decode_signed_commitment(commitment));
    GYM_CHECK(decode_record(in, format, claim));
    GYM_TRY(evidence.index, in.u32());
    GYM_TRY(const std::uint32_t count, in.count(kPathMax));
    for (std::uint32_t i = 0; i < count; ++i) {
        GYM_TRY(const Digest sibling, in.digest());
        evidence.path.push_back(sibling);
    }
    return {};
}

using Commitments = std::vector<protocol::SignedCommitment>;

void encode_epoch(const Commitments& epoch, commit::Encoder& out) {
    out.u32(static_cast<std::uint32_t>(epoch.size()));
    for (const protocol::SignedCommitment& commitment : epoch)
        out.bytes(protocol::encode(commitment));
}

Result<Commitments> decode_epoch(commit::Decoder& in) {
    Commitments epoch;
    GYM_TRY(const std::uint32_t commitments, in.count(protocol::kSlotsMax));
    for (std::uint32_t i = 0; i < commitments; ++i) {
        GYM_TRY(const ByteView commitment, in.bytes(kPartBytesMax));
        GYM_TRY(const auto decoded, protocol::decode_signed_commitment(commitment));
        epoch.push_back(decoded);
    }
    return epoch;
}

void encode_held(const std::optional<HeldRound>& held, commit::Encoder& out) {
    out.boolean(held.has_value());
    if (!held) return;
    out.bytes(protocol::encode(held->record)).fixed(held->base_state_blob);
    encode_epoch(held->epoch, out);
}

Result<std::optional<HeldRound>> decode_held(commit::Decoder& in) {
    GYM_TRY(const bool is_there, in.boolean());
    if (!is_there) return std::optional<HeldRound>();
    HeldRound held;
    GYM_TRY(const ByteView record, in.bytes(kPartBytesMax));
    GYM_TRY(held.record, protocol::decode_round_record(record));
    GYM_TRY(held.base_state_blob, in.digest());
    GYM_TRY(held.epoch, decode_epoch(in));
    return std::optional(std::move(held));
}

void encode_withdrawn(const Claim& claim, commit::Encoder& out) {
    out.u32(static_cast<std::uint32_t>(claim.withdrawn.size()));
    for (const auto& source : claim.withdrawn) {
        out.boolean(source.has_value());
        if (!source) continue;
        out.bytes(protocol::encode(source->commitment)).fixed(source->unit);
        out.bytes(protocol::encode(source->listing));
    }
}

Result<std::optional<game::WithdrawnSource>> decode_source(commit::Decoder& in) {
    GYM_TRY(const bool is_there, in.boolean());
    if (!is_there) return std::optional<game::WithdrawnSource>();
    game::WithdrawnSource source;
    GYM_TRY(const ByteView commitment, in.bytes(kPartBytesMax));
    GYM_TRY(source.commitment, protocol::decode_signed_commitment(commitment));
    GYM_TRY(source.unit, in.digest());
    GYM_TRY(const ByteView record, in.bytes(kPartBytesMax));
    GYM_TRY(source.listing, protocol::decode_round_record(record));
    return std::optional(std::move(source));
}

Status decode_withdrawn(commit::Decoder& in, Claim& claim) {
    GYM_TRY(const std::uint32_t count, in.count(protocol::kWithdrawnMax));
    for (std::uint32_t i = 0; i < count; ++i) {
        GYM_TRY(auto source, decode_source(in));
        claim.withdrawn.push_back(std::move(source));
    }
    return {};
}

/// Fields that claims on train units do not have.
Status decode_others(commit::Decoder& in, const Format& format, Claim& claim) {
    GYM_TRY(const ByteView other, in.bytes(kPartBytesMax));
    claim.other.assign(other.begin(), other.end());
    GYM_TRY(claim.momentum_blob, in.digest());
    GYM_TRY(claim.deltas, protocol::decode_included(in));
    GYM_TRY(claim.epoch, decode_epoch(in));
    GYM_TRY(claim.held, decode_held(in));
    if (format.whole_records || claim.subject != Subject::kAggregate) return {};
    GYM_TRY(const ByteView round, in.bytes(kPartBytesMax));
    GYM_TRY(claim.round, protocol::decode_round_record(round));
    return {};
}

Error wrong(const Claim& claim, const std::string& what) {
    return fail(ErrorCode::kInvalidArgument,
                "a claim on " + std::string(to_string(claim.subject)) + ": " + what);
}

Status check_train_unit(const Claim& claim) {
    if (claim.key.slot >= protocol::kSlotsMax) return wrong(claim, "the slot is not a worker's");
    if (!claim.other.empty() || !claim.momentum_blob.is_zero() || !claim.deltas.empty() ||
        !claim.epoch.empty() || claim.held || claim.round || !claim.withdrawn.empty())
        return wrong(claim, "it has parts of another subject");
    const bool has_slot = claim.evidence.record.find_slot(claim.key.slot) != nullptr;
    if (has_slot != (claim.key.slot < claim.evidence.record.slots))
        return wrong(claim, "its record is without its slot");
    if (claim.evidence.late && !claim.evidence.record.accept_late)
        return wrong(claim, "the round takes no late commitments");
    return {};
}

Status check_report(const Claim& claim) {
    if (claim.evidence.index != 0 || !claim.evidence.path.empty())
        return wrong(claim, "reports are in no epoch's tree");
    return check_train_unit(claim);
}

Status check_held(const Claim& claim) {
    const bool any = protocol::held_of(claim.deltas) > 0;
    if (!any && claim.held) return wrong(claim, "it has a round of held deltas and none of them");
    if (any && !claim.held) return wrong(claim, "the round of its held deltas is missing");
    if (any && protocol::hash(claim.held->record) != claim.evidence.record.previous_record)
        return wrong(claim, "its held deltas are not of the round before");
    return {};
}

Status check_aggregate(const Claim& claim) {
    const auto& [commitment, record, index, path, late] = claim.evidence;
    if (claim.key.slot != protocol::kAggregateSlot ||
        commitment.commitment.kind != protocol::UnitKind::kAggregate)
        return wrong(claim, "the commitment is on another unit");
    if (index != 0 || !path.empty() || late)
        return wrong(claim, "aggregates are in no epoch's tree");
    if (!claim.other.empty()) return wrong(claim, "it has parts of another subject");
    if (!claim.round || protocol::head_of(*claim.round) != record)
        return wrong(claim, "it is without the whole record of its round");
    if (claim.deltas.empty()) return wrong(claim, "it names no deltas");
    if (!protocol::is_in_order(claim.deltas))
        return wrong(claim, "the deltas are not in the order of their slots, held ones last");
    if (!claim.withdrawn.empty() && claim.withdrawn.size() != protocol::withdrawn_of(claim.deltas))
        return wrong(claim, "it has no reason for each withdrawn delta");
    return check_held(claim);
}

Status check_conflict(const Claim& claim) {
    if (claim.role != Role::kChallenge) return wrong(claim, "a conflict cannot be defended");
    if (!claim.evidence.path.empty() || claim.evidence.index != 0 || claim.evidence.late ||
        !claim.deltas.empty() || !claim.epoch.empty() || claim.held || claim.round ||
        !claim.withdrawn.empty() || !blobs_of(claim).empty())
        return wrong(claim, "it has parts of another subject");
    GYM_CHECK(conflict_of(claim));
    return {};
}

bool is_known(game::Wanted what) {
    return what >= game::Wanted::kCommitment && what <= game::Wanted::kDataset;
}

Status check_withheld(const Claim& claim) {
    if (claim.role != Role::kChallenge) return wrong(claim, "a node answers without a claim");
    if (!claim.deltas.empty() || !claim.epoch.empty() || claim.held || claim.round ||
        !claim.withdrawn.empty() || !blobs_of(claim).empty())
        return wrong(claim, "it has parts of another subject");
    GYM_CHECK(withheld_evidence_of(claim));
    return {};
}

}  // namespace

Result<game::WithheldEvidence> withheld_evidence_of(const Claim& claim) {
    if (claim.subject != Subject::kWithheld) return wrong(claim, "it is not about withheld data");
    const auto data = game::decode_withheld_data(claim.other);
    if (!data.ok()) return wrong(claim, data.error().message);
    if (!is_known(data->what)) return wrong(claim, "there is no such data to ask for");
    if (data->what == game::Wanted::kCommitment)
        return game::ask_for_commitment(claim.evidence.commitment, claim.evidence.record);
    if (game::is_of_delta(data->what)) return game::ask_for_delta(claim.evidence, data->chunk);
    return game::ask_for_chunk(*data, claim.evidence.record);
}

Result<game::Conflict> conflict_of(const Claim& claim) {
    if (claim.subject != Subject::kConflict) return wrong(claim, "it is not a conflict");
    const auto other = game::read_conflict_other(claim.other);
    if (!other.ok()) return wrong(claim, "what contradicts is " + other.error().message);
    return game::Conflict{claim.evidence.commitment, claim.evidence.record, claim.other};
}

Status check(const Claim& claim) {
    const protocol::UnitCommitment& commitment = claim.evidence.commitment.commitment;
    const protocol::UnitRecord& record = claim.evidence.record;
    if (claim.key !=
        protocol::UnitKey{record.job_id, record.round, commitment.slot, commitment.attempt})
        return wrong(claim, "the commitment is on another unit");
    if (commitment.round_record != protocol::hash(record))
        return wrong(claim, "the commitment names another round record");
    if (const Status valid = protocol::validate(record); !valid.ok())
        return wrong(claim, valid.error().message);
    switch (claim.subject) {
        case Subject::kTrainUnit:
            return check_train_unit(claim);
        case Subject::kAggregate:
            return check_aggregate(claim);
        case Subject::kConflict:
            return check_conflict(claim);
        case Subject::kReport:
            return check_report(claim);
        case Subject::kWithheld:
            return check_withheld(claim);
    }
    return wrong(claim, "the subject is unknown");
}

Bytes encode(const Claim& claim) {
    commit::Encoder out;
    const int others = claim.withdrawn.empty() ? 0 : kWithdrawing;
    out.u16(static_cast<std::uint16_t>(kFormat + (claim.evidence.late ? kOnLateUnit : others)));
    out.u8(static_cast<std::uint8_t>(claim.role));
    out.u8(static_cast<std::uint8_t>(claim.subject));
    out.fixed(claim.key.job_id).u64(claim.key.round).u32(claim.key.slot).u32(claim.key.attempt);
    out.bytes(protocol::encode(claim.evidence.commitment));
    out.bytes(protocol::encode(claim.evidence.record)).u32(claim.evidence.index);
    out.u32(static_cast<std::uint32_t>(claim.evidence.path.size()));
    for (const Digest& sibling : claim.evidence.path)
        out.fixed(sibling);
    out.fixed(claim.program_blob).fixed(claim.dataset_blob).fixed(claim.base_state_blob);
    out.u64(claim.from_block).u64(claim.epoch_block).fixed(claim.salt);
    out.bytes(claim.other).fixed(claim.momentum_blob);
    protocol::encode_included(claim.deltas, out);
    encode_epoch(claim.epoch, out);
    encode_held(claim.held, out);
    if (claim.round) out.bytes(protocol::encode(*claim.round));
    if (!claim.withdrawn.empty()) encode_withdrawn(claim, out);
    return out.take();
}

Result<Claim> decode_claim(ByteView bytes) {
    commit::Decoder in(bytes);
    GYM_TRY(const Format format, read_format(in));
    Claim claim;
    GYM_TRY(claim.role, decode_role(in));
    if (!format.train_units_only) {
        GYM_TRY(claim.subject, decode_subject(in));
    }
    GYM_TRY(claim.key.job_id, in.digest());
    GYM_TRY(claim.key.round, in.u64());
    GYM_TRY(claim.key.slot, in.u32());
    GYM_TRY(claim.key.attempt, in.u32());
    GYM_CHECK(decode_evidence(in, format, claim));
    GYM_TRY(claim.program_blob, in.digest());
    GYM_TRY(claim.dataset_blob, in.digest());
    GYM_TRY(claim.base_state_blob, in.digest());
    GYM_TRY(claim.from_block, in.u64());
    GYM_TRY(claim.epoch_block, in.u64());
    GYM_TRY(claim.salt, in.digest());
    if (!format.train_units_only) GYM_CHECK(decode_others(in, format, claim));
    if (format.withdrawing) {
        GYM_CHECK(decode_withdrawn(in, claim));
        if (claim.withdrawn.empty())
            return fail(ErrorCode::kMalformed, "a claim of this format without withdrawn deltas");
    }
    GYM_CHECK(in.expect_end());
    const Status belongs = check(claim);
    if (!belongs.ok()) return fail(ErrorCode::kMalformed, belongs.error().message);
    return claim;
}

}  // namespace gym::player
