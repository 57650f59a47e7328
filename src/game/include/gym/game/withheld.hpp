#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/game/evidence.hpp"
#include "gym/game/moves.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/protocol/unit_record.hpp"

/// The evidence that opens a game about data that somebody stands for and does not give
/// (docs/adr/0049-withheld-data-on-chain.md).
namespace gym::game {

/// A part of what a round fixes or its commitments name.
struct WithheldData {
    Wanted what{};
    std::uint32_t tensor = 0;  ///< of a state or a dataset, else 0
    std::uint64_t chunk = 0;   ///< of a commitment 0
    friend bool operator==(const WithheldData&, const WithheldData&) = default;
};
inline constexpr std::size_t kWithheldDataBytes = 13;
/// what u8, tensor u32, chunk u64, big-endian.
[[nodiscard]] Bytes encode(const WithheldData& data);
/// Whatever it asks for. @errors kMalformed: another number of bytes.
[[nodiscard]] Result<WithheldData> decode_withheld_data(ByteView bytes);

[[nodiscard]] constexpr bool is_of_delta(Wanted what) {
    return what == Wanted::kDelta || what == Wanted::kLateDelta;
}

/// The arguments of DisputeGame.openWithheld() but the salt.
struct WithheldEvidence {
    WithheldData data;
    /// That is asked for, or that names the delta; else absent. Its kind may be any.
    std::optional<protocol::SignedCommitment> commitment;
    protocol::RoundHead record;
    protocol::SlotProof slot;  ///< of a commitment that is asked for, else empty
    std::uint32_t index = 0;   ///< of a delta's commitment in its epoch, else 0
    std::vector<Digest> path;  ///< to that epoch's root
    friend bool operator==(const WithheldEvidence&, const WithheldEvidence&) = default;
};
/// Asks for a commitment that was published. @param record with its slot.
[[nodiscard]] WithheldEvidence ask_for_commitment(const protocol::SignedCommitment& commitment,
                                                  const protocol::UnitRecord& record);
/// Asks the worker of a commitment for a chunk of its delta.
[[nodiscard]] WithheldEvidence ask_for_delta(const Evidence& evidence, std::uint64_t chunk);
/// Asks the coordinator for a chunk of what a round begins with or trains on.
[[nodiscard]] WithheldEvidence ask_for_chunk(const WithheldData& data,
                                             const protocol::RoundHead& record);

/// A posted epoch, as the log has it; all zero: there is none.
struct PostedEpoch {
    EpochRoot tree;
    Address poster;
    friend bool operator==(const PostedEpoch&, const PostedEpoch&) = default;
};
struct PostedEpochs {
    PostedEpoch own;   ///< of the record's round
    PostedEpoch next;  ///< of the round after it
    friend bool operator==(const PostedEpochs&, const PostedEpochs&) = default;
};

/// What the contract makes of the evidence (OpeningRules.openWithheld).
struct WithheldFacts {
    DataRequest request;
    Address asserter;
    Digest
        unit;  ///< that the game is named by: keccak256(abi.encode(hash of the request, asserter))
    friend bool operator==(const WithheldFacts&, const WithheldFacts&) = default;
};
/// The chain checks that the record is posted, the window, and that a commitment that is asked for
/// was published in time.
/// @errors kNotFound: the epoch that answers is not posted; kMismatch: the commitment is not to a
/// unit of the record's round, contradicts the record, or is not in the epoch; the round takes no
/// late ones; kInvalidArgument: its slot is no worker's; kUnauthenticated: nobody signed it;
/// kMalformed: there is more, or less, than such data needs; the root is zero.
[[nodiscard]] Result<WithheldFacts> withheld_facts_of(const crypto::Eip712Domain& domain,
                                                      const WithheldEvidence& evidence,
                                                      const PostedEpochs& epochs);

/// Call data of DisputeGame.openWithheld().
[[nodiscard]] Bytes encode_withheld(const WithheldEvidence& evidence, const Digest& salt);
struct WithheldCall {
    WithheldEvidence evidence;
    Digest salt;
};
/// As read_open().
[[nodiscard]] Result<WithheldCall> read_withheld(ByteView calldata);

}  // namespace gym::game
