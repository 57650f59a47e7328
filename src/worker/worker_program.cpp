#include "gym/worker/worker_program.hpp"

#include <spdlog/spdlog.h>

#include <chrono>

#include "gym/node/funding.hpp"
#include "gym/node/machine.hpp"
#include "gym/node/session.hpp"

namespace gym::worker {
namespace {

/// Before anything is downloaded: a worker without stake gets no units, one without gas can lose
/// its stake.
Status tell_missing_money(const node::NodeConfig& config, node::Session& session) {
    GYM_TRY(const records::NetworkDescription network, session.coordinator().network());
    const std::string advice = node::funding_advice(config, network, session.key().address());
    if (!advice.empty()) spdlog::warn("stake and gas: {}", advice);
    return {};
}

WorkerOptions options_of(const node::NodeConfig& config, const WorkerHooks& hooks,
                         node::Session& session) {
    WorkerOptions options;
    options.data_dir = config.data_dir;
    options.engine = config.engine();
    options.defend_disputes = config.defend_disputes;
    options.chain = session.chain();
    options.chain_wait = std::chrono::seconds(config.chain_wait_s);
    options.checkpoint_every = std::chrono::seconds(config.checkpoint_s);
    if (config.prefix_s == 0)
        options.prefix_every.reset();
    else
        options.prefix_every = std::chrono::seconds(config.prefix_s);
    options.claims = session.claims();
    options.check_device = node::device_check(config);
    options.swarm = session.swarm();
    options.on_event = hooks.on_event;
    options.on_progress = hooks.on_progress;
    if (const node::DisputeThread* disputes = session.disputes())
        options.check_signing = [disputes] { return disputes->lasting_failure(); };
    return options;
}

/// Sends the prefix of the unit that the node's end interrupts, so that its steps are paid if the
/// node does not come back in time.
void say_last(Worker& worker, rpc::Coordinator& coordinator) {
    const auto words = worker.last_words();
    if (!words) return;
    const Status sent = coordinator.submit_prefix(*words);
    if (sent.ok())
        spdlog::info("signed for the {} steps of the unit under way", words->prefix.steps);
    else
        spdlog::warn("the {} steps of the unit under way are not signed for: {}",
                     words->prefix.steps, sent.error().message);
}

/// Computes nothing: brings what was signed to the coordinator, and asks what became of it.
Status follow_signed(Worker& worker, bool& resumed, const std::stop_token& stop) {
    if (!resumed) GYM_CHECK(worker.resume(stop));
    resumed = true;
    GYM_CHECK(worker.track(stop));
    return worker.send_wanted();
}

}  // namespace

Status start_worker(const node::NodeConfig& config, const WorkerHooks& hooks,
                    const std::stop_token& stop, Status able) {
    // Before a unit is taken: one that cannot be computed would only be held until it expires.
    const auto device = node::device_of(config);
    if (able.ok() && !device.ok()) able = device.error();
    if (!able.ok() && !node::has_claims(config)) return able;
    GYM_TRY(const auto session,
            node::Session::open(config, player::Role::kDefend, hooks.on_dispute, stop));
    GYM_CHECK(tell_missing_money(config, *session));
    WorkerOptions options = options_of(config, hooks, *session);
    if (!able.ok()) options.engine = config.games_engine();  // if a delta is lost
    GYM_TRY(const auto worker,
            Worker::open(session->coordinator(), session->key(), session->clock(), options));
    const std::chrono::seconds stay = able.ok() ? std::chrono::seconds(0) : node::kStayAtStart;
    if (able.ok()) {
        spdlog::info("worker {} at {}, on {}, {} threads", session->key().address().hex(),
                     config.coordinator, *device, options.engine.threads);
        able = session->run([&] { return worker->activity(); },
                            [&] { return run_worker(*worker, options, stop); },
                            [&](rpc::Coordinator& coordinator) { say_last(*worker, coordinator); });
    }
    if (able.ok()) return able;
    bool resumed = false;
    return session->stay_for_games(
        able.error(), [&] { return follow_signed(*worker, resumed, stop); }, stay, stop);
}

}  // namespace gym::worker
