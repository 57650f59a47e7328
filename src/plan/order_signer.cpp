#include "gym/plan/order_signer.hpp"

#include "gym/registry/job_spec.hpp"

namespace gym::plan {
namespace {

std::uint64_t expiry(UnixMs now_ms) {
    return static_cast<std::uint64_t>(now_ms / 1000) + records::kOrderLifetimeSeconds;
}

}  // namespace

Result<records::SealedTerms> OrderSigner::seal_job(const std::string& yaml,
                                                   const std::string& idempotency_key,
                                                   UnixMs now_ms) const {
    GYM_TRY(const auto spec, registry::parse_submitted_spec(yaml, "job"));
    records::JobOrder order =
        registry::job_order(spec, yaml, key.address(), records::order_nonce(idempotency_key));
    order.expiry_s = expiry(now_ms);
    return records::SealedTerms{registry::order_terms(spec),
                                records::seal_order(network, order, key)};
}

records::OrderSeal OrderSigner::seal_funding(const Digest& job, const Amount& amount,
                                             const std::string& idempotency_key,
                                             UnixMs now_ms) const {
    return records::seal_order(network,
                               records::JobFunding{.owner = key.address(),
                                                   .job = job,
                                                   .amount_wei = amount,
                                                   .nonce = records::order_nonce(idempotency_key),
                                                   .expiry_s = expiry(now_ms)},
                               key);
}

}  // namespace gym::plan
