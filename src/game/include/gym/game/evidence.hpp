#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/game/moves.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/round_record.hpp"

/// What a game is opened with, and how units and games are named (OpeningRules).
namespace gym::game {

/// A signed commitment, its round record, and its path to the epoch's root.
struct Evidence {
    protocol::SignedCommitment commitment;
    protocol::RoundRecord record;
    std::uint32_t index = 0;
    std::vector<Digest> path;
    friend bool operator==(const Evidence&, const Evidence&) = default;
};

[[nodiscard]] Facts facts_of(const protocol::UnitCommitment& commitment,
                             const protocol::RoundRecord& record);
/// keccak256(EIP-712 digest, signer). @errors kUnauthenticated: nobody's signature.
[[nodiscard]] Result<Digest> unit_of(const crypto::Eip712Domain& domain,
                                     const protocol::SignedCommitment& commitment);
/// Where every game about the unit begins.
[[nodiscard]] Cursor start_of(const Digest& unit, const Facts& facts);

/// A field of the commitment that its round record contradicts: 0 kind, 1 worker, 2 codec, 3 steps,
/// 4 tokens, 5 FLOPs, 6 a zero root. Such a game is won when it is opened.
/// @errors kInvalidArgument: the coordinator's slot.
[[nodiscard]] Result<std::optional<std::uint8_t>> contradiction(
    const protocol::UnitCommitment& commitment, const protocol::RoundRecord& record,
    const Address& signer);

/// DisputeGame.announcementOf(): what is announced, and the id of the game that is opened.
[[nodiscard]] Digest announcement_of(std::uint64_t chain_id, const Address& game_contract,
                                     const Address& sender, const Digest& unit, const Digest& salt);

/// Call data of DisputeGame.open().
[[nodiscard]] Bytes encode_open(const Evidence& evidence, const Digest& salt);
struct OpenCall {
    Evidence evidence;
    Digest salt;
};
/// @errors kNotFound: another function; kMalformed.
[[nodiscard]] Result<OpenCall> decode_open(ByteView calldata);
/// A call that the contract has taken, as it read it (abi_read_calldata). @errors as decode_open().
[[nodiscard]] Result<OpenCall> read_open(ByteView calldata);

}  // namespace gym::game
