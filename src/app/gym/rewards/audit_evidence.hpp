#pragma once

#include <memory>
#include <string>

#include "gym/chain/client.hpp"
#include "gym/client/api_client.hpp"
#include "gym/rewards/evidence_check.hpp"

namespace gym::app {

/// Rounds, reports and answers as a gym-api hands them out; roots, record hashes and beacons from
/// the chain. `client` must outlive it. @errors kMalformed for an answer of another form, those of
/// client::ApiClient and of the chain.
[[nodiscard]] std::unique_ptr<rewards::EvidenceSource> make_audit_evidence(
    client::ApiClient api, chain::ChainClient& client, const Address& commitment_log);

}  // namespace gym::app
