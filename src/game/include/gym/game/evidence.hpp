#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/game/moves.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/protocol/unit_record.hpp"

/// The evidence that opens a game, and the names of units and games (OpeningRules).
namespace gym::game {

/// A signed commitment with its round record and its path to the epoch's root.
struct Evidence {
    protocol::SignedCommitment commitment;
    protocol::UnitRecord record;  ///< with the commitment's slot, if the round has it
    std::uint32_t index = 0;
    std::vector<Digest> path;
    bool late = false;  ///< index and path are those in the epoch of the round after the record's
    friend bool operator==(const Evidence&, const Evidence&) = default;
};

/// The tree of a round's commitments, as the chain has it.
struct EpochRoot {
    Digest root;
    std::uint32_t leaves = 0;
    friend bool operator==(const EpochRoot&, const EpochRoot&) = default;
};

/// Those that the deltas of an aggregate are under.
struct EpochRoots {
    EpochRoot own;       ///< of the round that the commitment names
    EpochRoot previous;  ///< of the round before; zero: it has none on the chain, or another record
    friend bool operator==(const EpochRoots&, const EpochRoots&) = default;
};

/// What the contracts are shown of it: of the round record its head, and the terms of one slot.
struct PostedEvidence {
    protocol::SignedCommitment commitment;
    protocol::RoundHead record;
    protocol::SlotProof slot;
    std::uint32_t index = 0;
    std::vector<Digest> path;
    bool late = false;
    friend bool operator==(const PostedEvidence&, const PostedEvidence&) = default;
};
[[nodiscard]] PostedEvidence posted(const Evidence& evidence);

/// Of a train unit. @param slot its terms; nullptr: the round has no such slot.
[[nodiscard]] Facts facts_of(const protocol::UnitCommitment& commitment,
                             const protocol::RoundTerms& terms,
                             const protocol::SlotAssignment* slot);
[[nodiscard]] Facts facts_of(const protocol::UnitCommitment& commitment,
                             const protocol::UnitRecord& record);
/// Of an aggregate unit.
[[nodiscard]] OuterFacts outer_facts_of(const protocol::UnitCommitment& commitment,
                                        const protocol::RoundTerms& terms,
                                        const EpochRoots& epochs);
/// Of either, by the commitment's slot.
[[nodiscard]] UnitFacts unit_facts_of(const protocol::UnitCommitment& commitment,
                                      const protocol::UnitRecord& record, const EpochRoots& epochs);
[[nodiscard]] UnitFacts unit_facts_of(const PostedEvidence& evidence, const EpochRoots& epochs);
/// The chain's name of a unit: keccak256(abi.encode(EIP-712 digest of the commitment, signer)).
[[nodiscard]] Digest unit_name(const Digest& digest, const Address& signer);
/// The same, with the signer recovered from the signature. @errors kUnauthenticated: not valid.
[[nodiscard]] Result<Digest> unit_of(const crypto::Eip712Domain& domain,
                                     const protocol::SignedCommitment& commitment);
/// The cursor at which every game about the unit begins.
[[nodiscard]] Cursor start_of(const Digest& unit, const UnitFacts& facts);

/// A field of the commitment that its round record contradicts: 0 kind, 1 worker, 2 codec, 3 steps,
/// 4 tokens, 5 FLOPs, 6 a zero root; of an aggregate neither 1 nor 5. Such a game is won when it is
/// opened.
/// @errors kInvalidArgument: a slot that is neither a worker's nor the aggregate's.
[[nodiscard]] Result<std::optional<std::uint8_t>> contradiction(
    const protocol::UnitCommitment& commitment, const protocol::UnitRecord& record,
    const Address& signer);

/// DisputeGame.announcementOf(): what is announced, and the id of the game that is opened.
[[nodiscard]] Digest announcement_of(std::uint64_t chain_id, const Address& game_contract,
                                     const Address& sender, const Digest& unit, const Digest& salt);

/// Call data of DisputeGame.open(), or of openLate().
[[nodiscard]] Bytes encode_open(const Evidence& evidence, const Digest& salt);
struct OpenCall {
    PostedEvidence evidence;
    Digest salt;
};
/// Reads a call that the contract has accepted, as the contract read it (abi_read_calldata).
/// @errors kNotFound: another function; kMalformed.
[[nodiscard]] Result<OpenCall> read_open(ByteView calldata);

/// Two records that were signed or posted and cannot both be right: a game that is won when it is
/// opened (OpeningRules).
struct Conflict {
    protocol::SignedCommitment commitment;
    protocol::RoundHead record;  ///< that the commitment names
    /// Another commitment of the same signer for the same unit; or, of an aggregate, the head
    /// of the next round's record: the bytes that were signed or posted, canonical or not.
    Bytes other;
    friend bool operator==(const Conflict&, const Conflict&) = default;
};

/// Conflict::other as the contracts read it, by its length. A commitment's kind may be any.
using ConflictOther = std::variant<protocol::SignedCommitment, protocol::RoundHead>;
/// @errors kMalformed: they take it for neither.
[[nodiscard]] Result<ConflictOther> read_conflict_other(ByteView other);

inline constexpr std::uint8_t kNextRecordField = 7;
inline constexpr std::uint8_t kEquivocationField = 8;

struct ConflictFinding {
    Digest unit;  ///< of an equivocation that of the commitment with the lower EIP-712 digest
    Address asserter;
    std::uint8_t field = 0;  ///< kNextRecordField, kEquivocationField
    friend bool operator==(const ConflictFinding&, const ConflictFinding&) = default;
};

/// Decides a conflict. The chain checks that the records are posted, and the window.
/// @errors kConflict: there is none; kMismatch: the commitment does not name the record, or `other`
/// is of another unit, signer, job or round; kUnauthenticated: an invalid signature; kMalformed:
/// `other` is neither.
[[nodiscard]] Result<ConflictFinding> decide_conflict(const crypto::Eip712Domain& domain,
                                                      const Conflict& conflict);

/// Call data of DisputeGame.openConflict().
[[nodiscard]] Bytes encode_conflict(const Conflict& conflict, const Digest& salt);
struct ConflictCall {
    Conflict conflict;
    Digest salt;
};
/// As read_open().
[[nodiscard]] Result<ConflictCall> read_conflict(ByteView calldata);

}  // namespace gym::game
