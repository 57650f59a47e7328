#include "job/job_order.hpp"

#include <CLI/CLI.hpp>

#include "gym/registry/job_spec.hpp"

namespace gym::app {
namespace {

std::uint64_t expiry(UnixMs now_ms) {
    return static_cast<std::uint64_t>(now_ms / 1000) + records::kOrderLifetimeSeconds;
}

}  // namespace

void OrderOptions::add_to(CLI::App& command) {
    keys.add_to(command, true);
    command.add_option("--deployment", chain.deployment,
                       "deployment.json of the network that the order is signed for (or set "
                       "GYM_DEPLOYMENT)");
}

Result<OrderSigner> open_order_signer(const OrderOptions& options) {
    GYM_TRY(const contracts::Deployment deployment, options.chain.contracts());
    GYM_TRY(const node::NodeConfig config, options.keys.config());
    GYM_TRY(crypto::PrivateKey key, node::load_key(config));
    return OrderSigner{std::move(key), {deployment.chain_id, deployment.escrow}};
}

Result<records::OrderSeal> OrderSigner::seal_job(const std::string& yaml,
                                                 const std::string& idempotency_key,
                                                 UnixMs now_ms) const {
    GYM_TRY(const auto spec, registry::parse_submitted_spec(yaml, "job"));
    records::JobOrder order =
        registry::job_order(spec, yaml, key.address(), records::order_nonce(idempotency_key));
    order.expiry_s = expiry(now_ms);
    return records::seal_order(network, order, key);
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

}  // namespace gym::app
