#include "gym/verifier/verifier_program.hpp"

#include <spdlog/spdlog.h>

#include "gym/worker/dispute_thread.hpp"
#include "gym/worker/heartbeat.hpp"
#include "gym/worker/node_lock.hpp"
#include "gym/worker/node_program.hpp"

namespace gym::verifier {

Status start_verifier(const worker::NodeConfig& config,
                      const std::function<void(const VerifierEvent&)>& on_event,
                      const std::function<void(const player::PlayerEvent&)>& on_dispute,
                      const std::stop_token& stop) {
    worker::RegisterOptions role;
    role.role = rpc::NodeRole::kVerifier;
    role.memory_bytes = config.memory_bytes;
    GYM_TRY(const worker::Registration registration, worker::register_node(config, role));
    GYM_TRY(const crypto::PrivateKey key, worker::load_key(config));
    GYM_TRY(const worker::NodeLock lock, worker::NodeLock::acquire(config));
    const SystemClock clock;
    GYM_TRY(const auto coordinator, rpc::connect(config.client(stop), key.clone(), clock));
    GYM_TRY(const rpc::NetworkInfo network, coordinator->network());
    GYM_TRY(const auto chain, worker::open_chain(config, network));
    GYM_CHECK(worker::greet_chain(chain.get(), network));
    VerifierOptions options;
    options.data_dir = config.data_dir;
    options.engine = config.engine();
    options.chain = chain.get();
    options.beacon_delay_blocks = config.beacon_delay_blocks;
    options.on_event = on_event;
    GYM_TRY(const auto disputes,
            worker::DisputeThread::start(config, network, *coordinator, key,
                                         player::Role::kChallenge, on_dispute));
    if (disputes) options.claims = &disputes->claims();
    GYM_TRY(const auto verifier, Verifier::open(*coordinator, key, options));
    spdlog::info("verifier {} at {}{}", registration.address.hex(), config.coordinator,
                 registration.key_created ? " (new key)" : "");
    {
        const worker::Heartbeat heartbeat(
            *coordinator, [&] { return verifier->activity(); }, key, network.domain(),
            network.heartbeat_every_ms);
        GYM_CHECK(run_verifier(*verifier, stop));
    }
    worker::sign_off(config, key, clock);
    spdlog::info("stopped");
    return {};
}

}  // namespace gym::verifier
