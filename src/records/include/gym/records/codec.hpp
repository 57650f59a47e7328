#pragma once

#include "gym/commit/codec.hpp"
#include "gym/common/result.hpp"
#include "gym/records/task.hpp"
#include "gym/records/unit.hpp"

/// Records as canonical bytes, for what nodes keep on disk. Messages have their own form
/// (proto/gym/v1). @errors of every reader: kMalformed.
namespace gym::records {

void encode(const protocol::UnitKey& key, commit::Encoder& out);
[[nodiscard]] Result<protocol::UnitKey> decode_unit_key(commit::Decoder& in);

/// A presence byte, then the digest if there is one.
void encode(const std::optional<Digest>& digest, commit::Encoder& out);
[[nodiscard]] Result<std::optional<Digest>> decode_optional_digest(commit::Decoder& in);

/// Without base_steps, which are hints for the moment.
void encode(const UnitInputs& inputs, commit::Encoder& out);
[[nodiscard]] Result<UnitInputs> decode_unit_inputs(commit::Decoder& in);

void encode(const InclusionReceipt& receipt, commit::Encoder& out);
[[nodiscard]] Result<InclusionReceipt> decode_inclusion_receipt(commit::Decoder& in);

}  // namespace gym::records
