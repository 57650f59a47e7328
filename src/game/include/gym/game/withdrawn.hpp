#pragma once

#include <cstdint>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/round_record.hpp"

/// What is shown of a delta that an aggregate subtracts (docs/adr/0023-withdrawn-deltas.md).
namespace gym::game {

/// Why a delta may be subtracted: kept by those who made the aggregate or looked at it.
struct WithdrawnSource {
    protocol::SignedCommitment commitment;  ///< to the unit that was proven faulty
    Digest unit;                            ///< its id in the records
    protocol::RoundRecord listing;          ///< of the round after the one that it went into

    friend bool operator==(const WithdrawnSource&, const WithdrawnSource&) = default;
};

/// The same as move::ShowIncluded brings it, in the place of a commitment: commitment (226 bytes),
/// unit (32), heads of the aggregate's own record and of the listing one (464 each).
struct WithdrawnEvidence {
    protocol::SignedCommitment commitment;  ///< its kind may be any
    Digest unit;
    Bytes own, listing;
};
[[nodiscard]] Bytes encode(const WithdrawnEvidence& evidence);
/// @errors kMalformed: another number of bytes, or no commitment.
[[nodiscard]] Result<WithdrawnEvidence> decode_withdrawn_evidence(ByteView bytes);

}  // namespace gym::game
