#include "gym/worker/worker_program.hpp"

#include <spdlog/spdlog.h>

#include <chrono>

#include "gym/node/chain_view.hpp"
#include "gym/node/dispute_thread.hpp"
#include "gym/node/heartbeat.hpp"
#include "gym/node/machine.hpp"
#include "gym/node/node_lock.hpp"
#include "gym/node/registration.hpp"

namespace gym::worker {

Status start_worker(const node::NodeConfig& config, const WorkerHooks& hooks,
                    const std::stop_token& stop) {
    // Before a unit is taken: one that cannot be computed would only be held until it expires.
    GYM_TRY(const std::string device, node::device_of(config));
    GYM_TRY(const crypto::PrivateKey key, node::load_key(config));
    GYM_TRY(const node::NodeLock lock, node::NodeLock::acquire(config));
    const SystemClock clock;
    GYM_TRY(const auto coordinator, rpc::connect(config.client(stop), key.clone(), clock));
    GYM_TRY(const records::NetworkDescription network, coordinator->network());
    GYM_TRY(const auto chain, node::open_chain(config, network));
    GYM_CHECK(node::start_chain_checks(chain.get(), network));
    WorkerOptions options;
    options.data_dir = config.data_dir;
    options.engine = config.engine();
    options.defend_disputes = config.defend_disputes;
    options.chain = chain.get();
    options.chain_wait = std::chrono::seconds(config.chain_wait_s);
    options.checkpoint_every = std::chrono::seconds(config.checkpoint_s);
    options.on_event = hooks.on_event;
    options.on_progress = hooks.on_progress;
    GYM_TRY(const auto disputes,
            node::DisputeThread::start(config, network, *coordinator, key, player::Role::kDefend,
                                       [&hooks](const player::PlayerEvent& event) {
                                           if (hooks.on_dispute) hooks.on_dispute(event);
                                       }));
    if (disputes) {
        options.claims = &disputes->claims();
        options.check_signing = [&disputes] { return disputes->lasting_failure(); };
    }
    GYM_TRY(const auto worker, Worker::open(*coordinator, key, clock, options));
    spdlog::info("worker {} at {}, on {}, {} threads", key.address().hex(), config.coordinator,
                 device, options.engine.threads);
    {
        const node::HeartbeatThread heartbeat(
            *coordinator, [&] { return worker->activity(); }, key, network.domain(),
            network.heartbeat_every_ms);
        GYM_CHECK(run_worker(*worker, options, stop));
    }
    node::leave_network(config, key, clock);
    return {};
}

}  // namespace gym::worker
