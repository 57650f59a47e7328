// The loop of a worker's program: resume, poll, track, with pauses after errors.
#include <spdlog/spdlog.h>

#include <chrono>
#include <string>
#include <thread>

#include "gym/common/stop.hpp"
#include "gym/node/backoff.hpp"
#include "gym/worker/worker.hpp"
#include "worker_timer.hpp"

namespace gym::worker {
namespace {

constexpr std::chrono::seconds kSendWantedEvery{10};

bool has_claims_to_defend(const WorkerOptions& options) {
    return options.claims != nullptr && options.claims->has_any(player::Role::kDefend);
}

/// Beside the units, until `ended`.
void send_wanted(Worker& worker, const std::stop_token& ended) {
    std::string said;
    while (!wait_for_stop(ended, kSendWantedEvery)) {
        const Status sent = worker.send_wanted();
        const std::string failure =
            sent.ok() || node::is_transient(sent.error().code) ? "" : sent.error().message;
        if (!failure.empty() && failure != said)
            spdlog::warn("a delta that the coordinator asks for is not sent: {}", failure);
        said = failure;
    }
}

}  // namespace

Status run_worker(Worker& worker, const WorkerOptions& options, const std::stop_token& stop) {
    node::Timer& timer = timer_of(options);
    const std::jthread wanted([&](const std::stop_token& ended) { send_wanted(worker, ended); });
    node::Backoff backoff(timer);
    auto next_track = timer.now();
    for (bool resumed = false; !stop.stop_requested();) {
        Status done;
        if (!resumed) {
            done = worker.resume(stop);
            resumed = done.ok() || !node::is_transient(done.error().code);
        }
        if (done.ok() && timer.now() >= next_track) {
            done = worker.track(stop);
            next_track = timer.now() + options.track_every;
        }
        if (done.ok() && options.check_signing) {
            done = options.check_signing();
            if (!done.ok() && !has_claims_to_defend(options)) return done;
            if (!done.ok()) done = done.error().in("DISPUTES: no new unit is requested");
        }
        if (done.ok()) {
            const auto ran = worker.run_once(stop);
            if (!ran.ok()) done = ran.error();
        }
        if (done.ok()) {
            backoff.succeeded();
        } else if (done.error().code != ErrorCode::kCancelled) {
            if (options.check_device) GYM_CHECK(options.check_device(done.error()));
            backoff.failed(done.error(), stop);
        }
    }
    return {};
}

}  // namespace gym::worker
