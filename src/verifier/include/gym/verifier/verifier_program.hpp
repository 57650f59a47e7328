#pragma once

#include <stop_token>

#include "gym/common/result.hpp"
#include "gym/node/node_config.hpp"
#include "gym/player/player.hpp"
#include "gym/verifier/verifier.hpp"

namespace gym::verifier {

/// `gym-verifier`: registers as a verifier (making a key if there is none), then verifies until
/// `stop`. With claims it stays for their games where it can no longer (node::stay_for_games()).
/// @errors what keeps it from starting.
Status start_verifier(const node::NodeConfig& config,
                      const std::function<void(const VerifierEvent&)>& on_event,
                      const std::function<void(const player::PlayerEvent&)>& on_dispute,
                      const std::stop_token& stop);

}  // namespace gym::verifier
