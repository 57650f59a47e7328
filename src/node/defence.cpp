#include "gym/node/defence.hpp"

#include <spdlog/spdlog.h>

#include <filesystem>

#include "gym/node/backoff.hpp"

namespace gym::node {
namespace {

constexpr std::chrono::seconds kFollowEvery{3};

}  // namespace

bool has_claims(const NodeConfig& config) {
    const std::filesystem::path folder = config.claims_folder();
    std::error_code unreadable;
    if (config.dispute_game.empty() || !std::filesystem::is_directory(folder, unreadable))
        return false;
    const auto claims = player::ClaimStore::open(folder);
    return !claims.ok() || !(*claims)->list().empty();
}

bool is_mended_by_restart(ErrorCode code) noexcept {
    return code != ErrorCode::kInvalidArgument && code != ErrorCode::kOutOfRange;
}

Status stay_for_games(const Defence& defence, const Error& why, FunctionRef<Status()> follow,
                      Timer& timer, const std::stop_token& stop) {
    if (defence.claims == nullptr || defence.claims->list().empty()) return why;
    spdlog::error(
        "DISPUTES: {}; this node takes no new work, but still plays the games about its "
        "claims",
        why.message);
    const auto until = timer.now() + defence.stay;
    for (Backoff backoff(timer); !stop.stop_requested();) {
        if (defence.claims->list().empty()) return why;
        if (is_mended_by_restart(why.code) && timer.now() >= until && !defence.is_playing())
            return why;
        const Status followed = follow();
        if (!followed.ok()) {
            backoff.failed(followed.error(), stop);
            continue;
        }
        backoff.succeeded();
        timer.wait(kFollowEvery, stop);
    }
    return {};
}

}  // namespace gym::node
