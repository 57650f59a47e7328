#include "waiting.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "gym/common/plural.hpp"

namespace gym::devnet {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kProgressPollMs = 300;

Error gave_up(const std::string& what, const WaitLimits& limits, bool saw_progress, bool in_all) {
    const std::string waited =
        in_all ? fmt::format("{} s in all, though it went on", limits.in_all_s)
               : fmt::format("{} s{}", limits.timeout_s, saw_progress ? ", without progress" : "");
    return fail(ErrorCode::kTimeout,
                fmt::format("waited {} for {}; {}", waited, what, load_text()));
}

}  // namespace

std::string load_text() {
    double load = 0;
    const unsigned processors = std::thread::hardware_concurrency();
    if (::getloadavg(&load, 1) != 1) return "it has " + counted(processors, "processor");
    return fmt::format("the machine's load is {:.1f} on {}", load,
                       counted(processors, "processor"));
}

Status wait_through(const std::string& what, const WaitLimits& limits,
                    const std::function<Result<Stage>()>& stage) {
    const auto began = Clock::now();
    auto since = began;
    std::string last;
    for (;;) {
        const auto now = Clock::now();
        if (now >= since + std::chrono::seconds(limits.timeout_s))
            return gave_up(what, limits, !last.empty(), false);
        if (now >= began + std::chrono::seconds(limits.in_all_s))
            return gave_up(what, limits, !last.empty(), true);
        if (limits.interrupted && limits.interrupted())
            return fail(ErrorCode::kCancelled, "interrupted while waiting for " + what);
        const auto at = stage();
        if (at.ok() && at->done) return {};
        if (!at.ok() && at.error().code != ErrorCode::kUnavailable) return at.error();
        if (at.ok() && at->at != last) {
            last = at->at;
            since = Clock::now();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(kProgressPollMs));
    }
}

Status wait_until(const std::string& what, const WaitLimits& limits,
                  const std::function<Result<bool>()>& done) {
    return wait_through(what, limits, [&]() -> Result<Stage> {
        GYM_TRY(const bool now, done());
        return Stage{now, {}};
    });
}

}  // namespace gym::devnet
