#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gym/commit/codec.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/protocol/sampling.hpp"
#include "gym/protocol/unit.hpp"

namespace gym::protocol {

/// Worker of a slot, and the probability that its unit is drawn for verification.
struct SlotAssignment {
    std::uint32_t slot = 0;
    Address worker;
    std::uint32_t sampling_rate_ppm = kPpm;

    friend bool operator==(const SlotAssignment&, const SlotAssignment&) = default;
};

/// A delta of the round before that went into this round's base state.
struct IncludedDelta {
    std::uint32_t slot = 0;
    Digest unit;
    Digest delta_root;

    friend bool operator==(const IncludedDelta&, const IncludedDelta&) = default;
};

/// Everything that fixes a round, on chain (by hash) before work is assigned. Whoever contradicts
/// it is at fault, the coordinator included (docs/PROTOCOL.md).
struct RoundRecord {
    Digest job_id;
    std::uint64_t round = 0;        ///< from 1
    Digest previous_record;         ///< hash of the round before; zero in round 1
    Digest base_state_root;         ///< theta_r
    Digest momentum_root;           ///< outer optimizer state
    Digest program_root;            ///< the train step; fixes the outer step's constants too
    Digest aggregate_program_root;  ///< the outer step that made theta_r; zero in round 1
    Digest evaluate_program_root;
    Digest dataset_root;
    Digest job_seed;
    Digest trace_root;          ///< of the program's expansion: what a dispute descends
    Digest initial_state_root;  ///< the training state of every unit before its first step
    std::uint32_t steps = 0;    ///< H inner steps of every unit
    std::uint32_t checkpoint_every =
        0;  ///< state and gradient roots at these steps, and at the last
    std::uint64_t tokens_per_step = 0;  ///< counted from the program
    std::uint64_t flops_per_step = 0;   ///< counted from the program
    std::uint16_t delta_codec = 0;
    SamplingPolicy sampling;
    std::vector<SlotAssignment> slots;    ///< ascending by slot, no worker twice
    std::vector<IncludedDelta> included;  ///< deltas of round - 1, ascending by slot

    friend bool operator==(const RoundRecord&, const RoundRecord&) = default;

    /// The assignment of `slot`, or nullptr.
    [[nodiscard]] const SlotAssignment* find_slot(std::uint32_t slot) const noexcept;
};

/// Canonical bytes of a record with so many slots and included deltas.
[[nodiscard]] constexpr std::uint64_t round_record_bytes(std::uint64_t slots,
                                                         std::uint64_t included) {
    return 404 + 28 * slots + 68 * included;
}
/// More the contracts do not take: one transaction, of at most chain::kCallDataBytesMax, must have
/// room for two records to open a game about both.
inline constexpr std::size_t kRoundRecordBytesMax = 60'928;

/// A list of included deltas as it stands in records and in what nodes keep: u32 count, then slot
/// u32, unit, delta root. Any order is accepted here.
void encode_included(std::span<const IncludedDelta> included, commit::Encoder& out);
/// @errors kMalformed: more than kSlotsMax, or too short.
[[nodiscard]] Result<std::vector<IncludedDelta>> decode_included(commit::Decoder& in);

/// Canonical bytes; equal records have equal bytes and unequal ones do not.
[[nodiscard]] Bytes encode(const RoundRecord& record);
/// @errors kMalformed for bytes that encode() would not have written, or that validate() refuses.
[[nodiscard]] Result<RoundRecord> decode_round_record(ByteView bytes);
/// At most kRoundRecordBytesMax, steps and checkpoint_every at least 1, slots ascending and below
/// kSlotsMax, no worker twice, rates within [floor, 1], included ascending and empty in round 1.
/// @errors kInvalidArgument.
[[nodiscard]] Status validate(const RoundRecord& record);
/// SHA-256 over a domain tag and encode(): the hash on chain and in every commitment.
[[nodiscard]] Digest hash(const RoundRecord& record);

/// The fields that the contracts read of the record behind an aggregate. They ignore all others, so
/// bytes that are no canonical record have a head, too.
struct RoundRecordHead {
    Digest job_id;
    std::uint64_t round = 0;
    Digest previous_record;
    Digest base_state_root;
    Digest momentum_root;

    friend bool operator==(const RoundRecordHead&, const RoundRecordHead&) = default;
};
/// @errors kMalformed where the contracts refuse the bytes: not 400 to 60,928, another format.
[[nodiscard]] Result<RoundRecordHead> read_round_record_head(ByteView bytes);
/// hash() of the record that has these bytes.
[[nodiscard]] Digest hash_round_record(ByteView bytes);

}  // namespace gym::protocol
