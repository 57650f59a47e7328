#pragma once

#include <string>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"
#include "gym/records/order.hpp"

namespace gym::plan {

/// An owner's key and the network whose money its orders spend. The network comes from a file that
/// the owner chose, never from the API: whoever names the escrow names the money. Orders are valid
/// for records::kOrderLifetimeSeconds.
struct OrderSigner {
    crypto::PrivateKey key;
    records::OrderNetwork network;

    /// Of a job's text as it is submitted. @errors those of registry::parse_submitted_spec().
    [[nodiscard]] Result<records::SealedTerms> seal_job(const std::string& yaml,
                                                        const std::string& idempotency_key,
                                                        UnixMs now_ms) const;
    [[nodiscard]] records::OrderSeal seal_funding(const Digest& job, const Amount& amount,
                                                  const std::string& idempotency_key,
                                                  UnixMs now_ms) const;
};

}  // namespace gym::plan
