#pragma once

#include "gym/commit/codec.hpp"
#include "gym/common/result.hpp"
#include "gym/protocol/round_record.hpp"

/// The checks and the codec that whole records share with those of single units.
namespace gym::protocol {

/// A slot's terms as they stand in a record: worker (20), sampling rate (4), steps (4).
void encode_terms(const SlotAssignment& slot, commit::Encoder& out);
/// @errors kMalformed: too short.
[[nodiscard]] Result<SlotAssignment> decode_terms(std::uint32_t slot, commit::Decoder& in);

/// What validate() asks of every record. @errors kInvalidArgument.
[[nodiscard]] Status validate_terms(const RoundTerms& terms);
/// That a slot's terms are such as a record may have. @errors kInvalidArgument naming the slot.
[[nodiscard]] Status validate_slot(const RoundTerms& terms, const SlotAssignment& slot);

}  // namespace gym::protocol
