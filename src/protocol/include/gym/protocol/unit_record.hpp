#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gym/commit/merkle.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/round_record.hpp"

namespace gym::protocol {

/// A round's record as one unit needs it: its head, and the terms of the unit's slot with their
/// path to the head's root over all slots. Whoever has the head's hash from the chain can check all
/// of it, and needs no other slot. 912 bytes in a round of 8,192 slots, whose whole record has
/// more than 200 KB.
struct UnitRecord : RoundHead {
    std::optional<SlotAssignment> assignment;  ///< absent: of a unit that has no slot (aggregates)
    std::vector<Digest> path;                  ///< of the assignment's leaf, bottom first

    friend bool operator==(const UnitRecord&, const UnitRecord&) = default;

    /// The assignment of `slot`, or nullptr: another one's, or none at all.
    [[nodiscard]] const SlotAssignment* find_slot(std::uint32_t slot) const noexcept;
};

/// Bytes of a record with a slot of a round of so many.
[[nodiscard]] constexpr std::size_t unit_record_bytes(unsigned tree_depth) {
    return kRoundHeadBytes + 32 + sizeof(Digest) * tree_depth;
}

/// The records of a round's units. Hashes the slots once; immutable, thread-safe.
class UnitRecords {
  public:
    explicit UnitRecords(const RoundRecord& record);
    [[nodiscard]] const RoundHead& head() const { return head_; }
    /// Without an assignment if the round has no such slot.
    [[nodiscard]] UnitRecord of(std::uint32_t slot) const;

  private:
    RoundHead head_;
    std::vector<SlotAssignment> slots_;
    commit::MerkleTree tree_;
};
/// One of them.
[[nodiscard]] UnitRecord unit_record(const RoundRecord& record, std::uint32_t slot);

/// Canonical bytes: the head's; then, if there is an assignment, slot u32, terms (28) and path.
[[nodiscard]] Bytes encode(const UnitRecord& record);
/// @errors kMalformed for bytes that encode() would not have written, or that validate() refuses.
[[nodiscard]] Result<UnitRecord> decode_unit_record(ByteView bytes);
/// As validate() of a whole record, as far as it goes: that the head may be a record's, and that
/// the assignment is such as a record may have and is under the head's root.
/// @errors kInvalidArgument naming what is wrong.
[[nodiscard]] Status validate(const UnitRecord& record);

/// The assignment as the contracts take it; empty without one.
[[nodiscard]] SlotProof proof_of(const UnitRecord& record);

/// As check_against_round() with a whole record, whose hash is the head's.
[[nodiscard]] Status check_against_round(const UnitCommitment& commitment, const UnitRecord& record,
                                         const Address& worker, std::uint32_t attempt);

}  // namespace gym::protocol
