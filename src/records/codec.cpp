#include "gym/records/codec.hpp"

namespace gym::records {

void encode(const protocol::UnitKey& key, commit::Encoder& out) {
    out.fixed(key.job_id).u64(key.round).u32(key.slot).u32(key.attempt);
}

Result<protocol::UnitKey> decode_unit_key(commit::Decoder& in) {
    protocol::UnitKey key;
    GYM_TRY(key.job_id, in.digest());
    GYM_TRY(key.round, in.u64());
    GYM_TRY(key.slot, in.u32());
    GYM_TRY(key.attempt, in.u32());
    return key;
}

void encode(const std::optional<Digest>& digest, commit::Encoder& out) {
    out.boolean(digest.has_value());
    if (digest) out.fixed(*digest);
}

Result<std::optional<Digest>> decode_optional_digest(commit::Decoder& in) {
    GYM_TRY(const bool present, in.boolean());
    if (!present) return std::optional<Digest>();
    GYM_TRY(const Digest digest, in.digest());
    return std::optional<Digest>(digest);
}

void encode(const UnitInputs& inputs, commit::Encoder& out) {
    out.fixed(inputs.program_blob);
    encode(inputs.dataset_blob, out);
    out.fixed(inputs.base_state_blob);
    encode(inputs.momentum_blob, out);
}

Result<UnitInputs> decode_unit_inputs(commit::Decoder& in) {
    UnitInputs inputs;
    GYM_TRY(inputs.program_blob, in.digest());
    GYM_TRY(inputs.dataset_blob, decode_optional_digest(in));
    GYM_TRY(inputs.base_state_blob, in.digest());
    GYM_TRY(inputs.momentum_blob, decode_optional_digest(in));
    return inputs;
}

void encode(const InclusionReceipt& receipt, commit::Encoder& out) {
    out.u64(receipt.epoch).fixed(receipt.commitments_root);
    out.u64(receipt.leaf_index).u64(receipt.leaf_count);
    out.u32(static_cast<std::uint32_t>(receipt.siblings.size()));
    for (const Digest& sibling : receipt.siblings)
        out.fixed(sibling);
}

Result<InclusionReceipt> decode_inclusion_receipt(commit::Decoder& in) {
    InclusionReceipt receipt;
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

}  // namespace gym::records
