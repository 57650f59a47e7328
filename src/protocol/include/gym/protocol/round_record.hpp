#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gym/commit/codec.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/protocol/sampling.hpp"
#include "gym/protocol/unit.hpp"

namespace gym::protocol {

/// What a round fixes for the unit of one slot.
struct SlotAssignment {
    std::uint32_t slot = 0;  ///< its place in the record's list
    Address worker;
    std::uint32_t sampling_rate_ppm = kPpm;  ///< that the unit is drawn for verification
    std::uint32_t steps = 0;                 ///< inner steps of the unit, from 1

    friend bool operator==(const SlotAssignment&, const SlotAssignment&) = default;
};

/// A delta that went into this round's base state: of the round before, or, held back there, of the
/// one before that; or one that had gone into an earlier one, was proven faulty since then, and was
/// subtracted (docs/adr/0023-withdrawn-deltas.md).
struct IncludedDelta {
    std::uint32_t slot = 0;
    Digest unit;
    Digest delta_root;
    bool held = false;  ///< of a withdrawn one: that it was held when it went in
    /// Of a withdrawn one: rounds since the aggregate that it went into, at least 1. 0: it goes in.
    std::uint16_t age = 0;

    [[nodiscard]] bool is_withdrawn() const { return age != 0; }
    friend bool operator==(const IncludedDelta&, const IncludedDelta&) = default;
};

/// What a round fixes for all its units alike.
struct RoundTerms {
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
    std::uint32_t checkpoint_every =
        0;  ///< state and gradient roots at these steps, and at the last
    std::uint64_t tokens_per_step = 0;  ///< counted from the program
    std::uint64_t flops_per_step = 0;   ///< counted from the program
    std::uint16_t delta_codec = 0;
    SamplingPolicy sampling;
    /// Whether commitments to its units may be in the epoch of the next round: format 4, or 6.
    bool accept_late = false;
    /// Whether aggregates subtract deltas that were proven faulty: format 5, or 6 with accept_late.
    bool subtract = false;

    friend bool operator==(const RoundTerms&, const RoundTerms&) = default;
};

/// What is hashed of a record, and all of it that the contracts are shown: its lists are roots.
struct RoundHead : RoundTerms {
    std::uint32_t slots = 0;     ///< their number
    Digest slots_root;           ///< over slot_leaf() of each
    std::uint32_t included = 0;  ///< the number of included deltas
    Digest included_root;        ///< over included_leaf() of each

    friend bool operator==(const RoundHead&, const RoundHead&) = default;
};
/// Bytes of every head.
inline constexpr std::size_t kRoundHeadBytes = 464;

/// Everything that fixes a round, on chain (by hash) before work is assigned. Whoever contradicts
/// it is at fault, the coordinator included (docs/PROTOCOL.md).
struct RoundRecord : RoundTerms {
    std::vector<SlotAssignment> slots;  ///< number i has slot i; no worker twice
    /// Deltas of round - 1, ascending by slot, then those of round - 2, also ascending. Behind them
    /// withdrawn ones, those last that were held: either ascending by age, then slot.
    std::vector<IncludedDelta> included;

    friend bool operator==(const RoundRecord&, const RoundRecord&) = default;

    /// The assignment of `slot`, or nullptr.
    [[nodiscard]] const SlotAssignment* find_slot(std::uint32_t slot) const noexcept;
};

/// Canonical bytes of a record with so many slots and included deltas, of which so many are
/// withdrawn.
[[nodiscard]] constexpr std::uint64_t round_record_bytes(std::uint64_t slots,
                                                         std::uint64_t included,
                                                         std::uint64_t withdrawn = 0) {
    return kRoundHeadBytes + 28 * slots + 69 * included + 2 * withdrawn;
}
/// Withdrawn deltas of one aggregate: the others are those of later ones.
inline constexpr std::size_t kWithdrawnMax = 16;
/// Of a delta that is withdrawn: what is older stays in the model.
inline constexpr std::uint64_t kWithdrawnAgeMax = 0xFFFF;

/// A list of included deltas as it stands in records and in what nodes keep: u32 count, then slot
/// u32, unit, delta root, kind u8 (held 1, withdrawn 2, both 3), and of withdrawn ones age u16. Any
/// order is accepted here.
void encode_included(std::span<const IncludedDelta> included, commit::Encoder& out);
/// @errors kMalformed: more than kSlotsMax, or too short.
[[nodiscard]] Result<std::vector<IncludedDelta>> decode_included(commit::Decoder& in);

/// Canonical bytes: those of the head, then the two lists. Equal records have equal bytes and
/// unequal ones do not.
[[nodiscard]] Bytes encode(const RoundRecord& record);
/// @errors kMalformed for bytes that encode() would not have written, among them a head whose roots
/// are not those of the lists, or that validate() refuses.
[[nodiscard]] Result<RoundRecord> decode_round_record(ByteView bytes);
/// checkpoint_every at least 1, at most kSlotsMax slots in order, each with a worker, which is in
/// none other, steps, and a rate within [floor, 1]; included in order, empty in round 1, and none
/// held in round 2; at most kWithdrawnMax withdrawn, if it subtracts, of aggregates that there
/// were, and not alone.
/// @errors kInvalidArgument.
[[nodiscard]] Status validate(const RoundRecord& record);

/// Whether each comes once, in the order of a record's list.
[[nodiscard]] bool is_in_order(std::span<const IncludedDelta> included);
/// How many of the list go in, and are of an earlier round than the others.
[[nodiscard]] std::size_t held_of(std::span<const IncludedDelta> included);
/// How many of the list, the last ones, are withdrawn.
[[nodiscard]] std::size_t withdrawn_of(std::span<const IncludedDelta> included);

[[nodiscard]] RoundHead head_of(const RoundRecord& record);
/// kRoundHeadBytes, as the contracts take them.
[[nodiscard]] Bytes encode(const RoundHead& head);
/// Whatever the fields say: nobody but the contracts refuses a head. @errors kMalformed: another
/// number of bytes, or another format.
[[nodiscard]] Result<RoundHead> decode_round_head(ByteView bytes);
/// The head of a record's bytes, whatever comes behind it. @errors as above.
[[nodiscard]] Result<RoundHead> read_round_head(ByteView record);
/// SHA-256 over a domain tag and encode(): the hash on chain and in every commitment.
[[nodiscard]] Digest hash(const RoundHead& head);
/// The same of the head that these bytes begin with, be it one or not.
[[nodiscard]] Digest hash_round_head(ByteView record);
/// That of its head, hence of its lists, too.
[[nodiscard]] Digest hash(const RoundRecord& record);

/// Where a delta that is withdrawn now stands in a record that lists it as included: bytes for the
/// contracts, which believe a record that is posted.
struct ListedDelta {
    std::uint32_t index = 0;   ///< in the record's list
    std::vector<Digest> path;  ///< to its included root

    friend bool operator==(const ListedDelta&, const ListedDelta&) = default;
};
/// @errors kNotFound: `record` does not list the unit with this delta, held or not, as one that
/// goes in.
[[nodiscard]] Result<ListedDelta> prove_included(const RoundRecord& record,
                                                 const IncludedDelta& delta);

/// Leaves of a head's trees.
[[nodiscard]] Digest slot_leaf(const SlotAssignment& slot);
[[nodiscard]] Digest included_leaf(const IncludedDelta& delta);

/// The terms of one slot with their path to slots_root, as the contracts take them. Empty: the
/// record has no such slot, which its head shows.
struct SlotProof {
    Bytes terms;  ///< worker (20), sampling rate (4), steps (4)
    std::vector<Digest> path;

    friend bool operator==(const SlotProof&, const SlotProof&) = default;
};
[[nodiscard]] SlotProof prove_slot(const RoundRecord& record, std::uint32_t slot);
/// What the head fixes for `slot`; absent: nothing, it has no such slot.
/// @errors kMalformed, kMismatch: the proof does not show it.
[[nodiscard]] Result<std::optional<SlotAssignment>> open_slot(const RoundHead& head,
                                                              std::uint32_t slot,
                                                              const SlotProof& proof);
/// What a proof says of `slot`, whoever's it is. @errors kMalformed.
[[nodiscard]] Result<std::optional<SlotAssignment>> read_slot(std::uint32_t slot,
                                                              const SlotProof& proof);

}  // namespace gym::protocol
