#pragma once

#include <cstdint>
#include <optional>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/crypto/key.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/protocol/unit.hpp"

namespace gym::protocol {

/// The EIP-712 domain of everything that nodes sign: name "Gym", version "1", the chain, and the
/// CommitmentLog contract, so that a signature made for one network means nothing on another.
[[nodiscard]] crypto::Eip712Domain signing_domain(std::uint64_t chain_id,
                                                  const Address& commitment_log);

/// A worker's claim about a computed unit. The EIP-712 struct is
/// `UnitCommitment(uint8 kind,bytes32 roundRecord,uint32 slot,uint32 attempt,bytes32 recordsRoot,
/// bytes32 finalStateRoot,uint16 deltaCodec,bytes32 deltaRoot,uint32 steps,uint64 tokens,uint64
/// flops)`.
struct UnitCommitment {
    UnitKind kind = UnitKind::kTrain;
    Digest round_record;  ///< hash(RoundRecord)
    std::uint32_t slot = 0;
    std::uint32_t attempt = 0;
    Digest records_root;
    Digest final_state_root;
    std::uint16_t delta_codec = 0;
    Digest delta_root;
    std::uint32_t steps = 0;
    std::uint64_t tokens = 0;
    std::uint64_t flops = 0;

    friend bool operator==(const UnitCommitment&, const UnitCommitment&) = default;
};

/// Roots by which two runs of one unit are compared: every honest run has the same.
struct UnitRoots {
    Digest records;      ///< over the step records
    Digest final_state;  ///< of an aggregate: the next base state
    Digest delta;        ///< of an aggregate: the next momentum

    friend bool operator==(const UnitRoots&, const UnitRoots&) = default;
};
[[nodiscard]] UnitRoots roots_of(const UnitCommitment& commitment);
/// The first root in which two runs differ.
enum class Difference : std::uint8_t { kNone, kRecords, kFinalState, kDelta };
[[nodiscard]] Difference compare(const UnitRoots& claimed, const UnitRoots& computed);

struct SignedCommitment {
    UnitCommitment commitment;
    crypto::Signature signature;

    friend bool operator==(const SignedCommitment&, const SignedCommitment&) = default;
};

/// The signed digest (EIP-712) of the commitment.
[[nodiscard]] Digest signing_digest(const crypto::Eip712Domain& domain,
                                    const UnitCommitment& commitment);
[[nodiscard]] SignedCommitment sign(const crypto::Eip712Domain& domain,
                                    const UnitCommitment& commitment,
                                    const crypto::PrivateKey& key);
/// @errors kUnauthenticated unless `worker` signed it.
Status verify_signature(const crypto::Eip712Domain& domain, const SignedCommitment& commitment,
                        const Address& worker);

/// Canonical bytes of a signed commitment (the leaf that is published, and the feed of the
/// registry).
[[nodiscard]] Bytes encode(const SignedCommitment& commitment);
/// @errors kMalformed.
[[nodiscard]] Result<SignedCommitment> decode_signed_commitment(ByteView bytes);

/// The leaf of an epoch's commitment tree: SHA-256 over a domain tag and encode(commitment).
[[nodiscard]] Digest commitment_leaf(const SignedCommitment& commitment);

/// Checks a train commitment against the round it names: kind, round record hash, slot of this
/// worker, attempt, steps, tokens, FLOPs, delta codec, roots that are not zero. The signature is
/// not checked.
/// @errors kPermissionDenied for another worker's slot, kConflict for another round record (a
/// replay from another round or job), kNotFound for a slot outside the round, kMismatch naming the
/// wrong field.
Status check_against_round(const UnitCommitment& commitment, const RoundRecord& record,
                           const Digest& record_hash, const Address& worker, std::uint32_t attempt);

/// Two different commitments of one worker for one (round record, slot, attempt): a fault that the
/// two signatures prove by themselves. Signature bytes do not count: only what was signed.
[[nodiscard]] bool is_equivocation(const UnitCommitment& first, const UnitCommitment& second);

}  // namespace gym::protocol
