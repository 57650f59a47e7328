#pragma once

#include <functional>
#include <stop_token>

#include "gym/common/result.hpp"
#include "gym/node/node_config.hpp"
#include "gym/player/player.hpp"
#include "gym/worker/worker.hpp"

namespace gym::worker {

/// Observers of a running worker. All but `on_dispute` are called from the worker's thread.
struct WorkerHooks {
    std::function<void(const WorkerEvent&)> on_event;
    std::function<void(const engine::UnitProgress&)> on_progress;
    std::function<void(const player::PlayerEvent&)> on_dispute;  ///< from the disputes' own thread
};
/// Runs `gym node start`: works until `stop`. A node that has claims to defend and cannot compute,
/// or no longer, plays their games (node::stay_for_games()).
/// @param able an error says why it takes no units. @errors the reason why it cannot start; kIo.
Status start_worker(const node::NodeConfig& config, const WorkerHooks& hooks,
                    const std::stop_token& stop, Status able = {});

}  // namespace gym::worker
