#pragma once

#include <chrono>
#include <functional>
#include <stop_token>

#include "gym/common/function_ref.hpp"
#include "gym/common/result.hpp"
#include "gym/node/node_config.hpp"
#include "gym/node/timer.hpp"
#include "gym/player/claim.hpp"

namespace gym::node {

/// Whether there are claims on disk that a node of this configuration plays for. A damaged one
/// counts: Session::open() says what is wrong with it.
[[nodiscard]] bool has_claims(const NodeConfig& config);

/// Whether another process may succeed where this one failed; supervisors start no other after the
/// errors of which that is not so (RestartPreventExitStatus in deploy/systemd).
[[nodiscard]] bool is_mended_by_restart(ErrorCode code) noexcept;

/// What a node that can compute nothing is still needed for.
struct Defence {
    const player::ClaimStore* claims = nullptr;  ///< null: it plays no games
    std::function<bool()> is_playing;            ///< DisputeThread::is_playing()
    /// How long it stays for claims that no game is about yet, where another process may succeed.
    std::chrono::seconds stay{0};
};
/// The `stay` of a node that could not even begin: games are opened and found meanwhile.
inline constexpr std::chrono::seconds kStayAtStart{120};

/// A node that can compute no more would lose its stake by the clock if it ended while games may be
/// opened about what it signed. So it stays, and its player plays, as long as there are claims;
/// where another process may succeed, as long as a game is under way.
/// @param follow brings what was signed on its way, called every few seconds; its errors are
/// logged.
/// @return `why`; success after `stop`.
Status stay_for_games(const Defence& defence, const Error& why, FunctionRef<Status()> follow,
                      Timer& timer, const std::stop_token& stop);

}  // namespace gym::node
