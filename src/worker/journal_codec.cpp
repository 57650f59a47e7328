#include "gym/commit/codec.hpp"
#include "gym/worker/unit_journal.hpp"

namespace gym::worker {
namespace {

constexpr std::uint16_t kFormat = 1;
constexpr std::uint32_t kPartBytesMax = 64U << 20;
constexpr std::uint32_t kReasonBytesMax = 4096;
constexpr std::uint32_t kSiblingsMax = 64;

void encode_optional(commit::Encoder& out, const std::optional<Digest>& digest) {
    out.boolean(digest.has_value());
    if (digest) out.fixed(*digest);
}

Result<std::optional<Digest>> decode_optional(commit::Decoder& in) {
    GYM_TRY(const bool present, in.boolean());
    if (!present) return std::optional<Digest>();
    GYM_TRY(const Digest digest, in.digest());
    return std::optional<Digest>(digest);
}

void encode_receipt(commit::Encoder& out, const rpc::InclusionReceipt& receipt) {
    out.u64(receipt.epoch).fixed(receipt.commitments_root);
    out.u64(receipt.leaf_index).u64(receipt.leaf_count);
    out.u32(static_cast<std::uint32_t>(receipt.siblings.size()));
    for (const Digest& sibling : receipt.siblings)
        out.fixed(sibling);
}

Result<rpc::InclusionReceipt> decode_receipt(commit::Decoder& in) {
    rpc::InclusionReceipt receipt;
    GYM_TRY(receipt.epoch, in.u64());
    GYM_TRY(receipt.commitments_root, in.digest());
    GYM_TRY(receipt.leaf_index, in.u64());
    GYM_TRY(receipt.leaf_count, in.u64());
    GYM_TRY(const std::uint32_t count, in.count(kSiblingsMax));
    for (std::uint32_t i = 0; i < count; ++i) {
        GYM_TRY(const Digest sibling, in.digest());
        receipt.siblings.push_back(sibling);
    }
    return receipt;
}

Result<rpc::UnitInputs> decode_inputs(commit::Decoder& in) {
    rpc::UnitInputs inputs;
    GYM_TRY(inputs.program_blob, in.digest());
    GYM_TRY(inputs.dataset_blob, decode_optional(in));
    GYM_TRY(inputs.base_state_blob, in.digest());
    GYM_TRY(inputs.momentum_blob, decode_optional(in));
    return inputs;
}

Result<protocol::UnitKey> decode_key(commit::Decoder& in) {
    protocol::UnitKey key;
    GYM_TRY(key.job_id, in.digest());
    GYM_TRY(key.round, in.u64());
    GYM_TRY(key.slot, in.u32());
    GYM_TRY(key.attempt, in.u32());
    return key;
}

}  // namespace

Bytes encode(const JournalEntry& entry) {
    commit::Encoder out;
    out.u16(kFormat).fixed(entry.unit.job_id).u64(entry.unit.round);
    out.u32(entry.unit.slot).u32(entry.unit.attempt);
    out.bytes(protocol::encode(entry.record));
    out.fixed(entry.inputs.program_blob);
    encode_optional(out, entry.inputs.dataset_blob);
    out.fixed(entry.inputs.base_state_blob);
    encode_optional(out, entry.inputs.momentum_blob);
    out.bytes(protocol::encode(entry.commitment)).bytes(entry.records);
    encode_optional(out, entry.leaf);
    out.boolean(entry.receipt.has_value());
    if (entry.receipt) encode_receipt(out, *entry.receipt);
    out.string(protocol::to_string(entry.state)).boolean(entry.defended).string(entry.reason);
    return out.take();
}

Result<JournalEntry> decode_journal_entry(ByteView bytes) {
    commit::Decoder in(bytes);
    GYM_TRY(const std::uint16_t format, in.u16());
    if (format != kFormat)
        return fail(ErrorCode::kMalformed, "journal format " + std::to_string(format));
    JournalEntry entry;
    GYM_TRY(entry.unit, decode_key(in));
    GYM_TRY(const ByteView record, in.bytes(kPartBytesMax));
    GYM_TRY(entry.record, protocol::decode_round_record(record));
    GYM_TRY(entry.inputs, decode_inputs(in));
    GYM_TRY(const ByteView commitment, in.bytes(kPartBytesMax));
    GYM_TRY(entry.commitment, protocol::decode_signed_commitment(commitment));
    GYM_TRY(const ByteView records, in.bytes(kPartBytesMax));
    entry.records.assign(records.begin(), records.end());
    GYM_TRY(entry.leaf, decode_optional(in));
    GYM_TRY(const bool has_receipt, in.boolean());
    if (has_receipt) {
        GYM_TRY(entry.receipt, decode_receipt(in));
    }
    GYM_TRY(const std::string state, in.string(64));
    GYM_TRY(entry.state, protocol::parse_unit_state(state));
    GYM_TRY(entry.defended, in.boolean());
    GYM_TRY(entry.reason, in.string(kReasonBytesMax));
    GYM_CHECK(in.expect_end());
    return entry;
}

}  // namespace gym::worker
