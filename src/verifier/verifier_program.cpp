#include "gym/verifier/verifier_program.hpp"

#include <spdlog/spdlog.h>

#include "gym/node/chain_view.hpp"
#include "gym/node/dispute_thread.hpp"
#include "gym/node/heartbeat.hpp"
#include "gym/node/node_lock.hpp"
#include "gym/node/registration.hpp"

namespace gym::verifier {

Status start_verifier(const node::NodeConfig& config,
                      const std::function<void(const VerifierEvent&)>& on_event,
                      const std::function<void(const player::PlayerEvent&)>& on_dispute,
                      const std::stop_token& stop) {
    node::RegisterOptions role;
    role.role = records::NodeRole::kVerifier;
    role.memory_bytes = config.memory_bytes;
    GYM_TRY(const node::Registration registration, node::register_node(config, role));
    GYM_TRY(const crypto::PrivateKey key, node::load_key(config));
    GYM_TRY(const node::NodeLock lock, node::NodeLock::acquire(config));
    const SystemClock clock;
    GYM_TRY(const auto coordinator, rpc::connect(config.client(stop), key.clone(), clock));
    GYM_TRY(const records::NetworkDescription network, coordinator->network());
    GYM_TRY(const auto chain, node::open_chain(config, network));
    GYM_CHECK(node::start_chain_checks(chain.get(), network));
    VerifierOptions options;
    options.data_dir = config.data_dir;
    options.engine = config.engine();
    options.chain = chain.get();
    options.beacon_delay_blocks = config.beacon_delay_blocks;
    options.on_event = on_event;
    GYM_TRY(const auto disputes, node::DisputeThread::start(config, network, *coordinator, key,
                                                            player::Role::kChallenge, on_dispute));
    if (disputes) options.claims = &disputes->claims();
    GYM_TRY(const auto verifier, Verifier::open(*coordinator, key, options));
    spdlog::info("verifier {} at {}{}", registration.address.hex(), config.coordinator,
                 registration.key_created ? " (new key)" : "");
    {
        const node::HeartbeatThread heartbeat(
            *coordinator, [&] { return verifier->activity(); }, key, network.domain(),
            network.heartbeat_every_ms);
        GYM_CHECK(run_verifier(*verifier, stop));
    }
    node::leave_network(config, key, clock);
    return {};
}

}  // namespace gym::verifier
