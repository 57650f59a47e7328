#pragma once

#include <cstdint>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/crypto/key.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/report.hpp"

/// What a verifier stakes on: its report on a train unit, in the words of a commitment, signed for
/// the contract with the games about reports (docs/adr/0045-verifiers-stake.md).
namespace gym::protocol {

/// The domain of signed reports. A signature in it is no commitment's, and the other way round.
/// @param report_game the DisputeGame whose asserters are verifiers.
[[nodiscard]] crypto::Eip712Domain report_domain(std::uint64_t chain_id,
                                                 const Address& report_game);

/// What the report says that the unit gives. @param committed a worker's commitment to the unit;
/// only the terms of its round are taken from it.
[[nodiscard]] UnitCommitment claim_of(const Report& report, const UnitCommitment& committed);

/// @errors kUnauthenticated unless the report's verifier signed `claim`.
Status check_report_claim(const crypto::Eip712Domain& domain, const Report& report,
                          const SignedCommitment& claim);

}  // namespace gym::protocol
