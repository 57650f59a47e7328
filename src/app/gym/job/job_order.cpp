#include "job/job_order.hpp"

#include <CLI/CLI.hpp>

namespace gym::app {

void OrderOptions::add_to(CLI::App& command) {
    keys.add_to(command, true);
    command.add_option("--deployment", chain.deployment,
                       "deployment.json of the network that the order is signed for (or set "
                       "GYM_DEPLOYMENT; default: the stored network)");
    chain.network.add_to(command);
}

Result<plan::OrderSigner> open_order_signer(const OrderOptions& options) {
    GYM_TRY(const contracts::Deployment deployment, options.chain.contracts());
    GYM_TRY(const node::NodeConfig config, options.keys.config());
    GYM_TRY(crypto::PrivateKey key, node::load_key(config));
    return plan::OrderSigner{std::move(key), {deployment.chain_id, deployment.escrow}};
}

}  // namespace gym::app
