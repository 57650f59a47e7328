#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "gym/common/result.hpp"

namespace gym::devnet {

/// How long to wait for something.
struct WaitLimits {
    std::uint32_t timeout_s = 0;  ///< without progress, where progress can be seen
    /// In all, even while there is progress: a stage that never ends has failed.
    std::uint32_t in_all_s = 4 * timeout_s;
    std::function<bool()> interrupted = {};  ///< asked between polls; empty: never
};

/// Where something that is waited for stands.
struct Stage {
    bool done = false;
    std::string at;  ///< another one is progress
};

/// Asks again and again until `stage` is done; a slow machine gets its time as long as it gets on.
/// @errors its own, except kUnavailable; kTimeout, saying how long was waited and how busy the
/// machine is; kCancelled.
Status wait_through(const std::string& what, const WaitLimits& limits,
                    const std::function<Result<Stage>()>& stage);
/// The same for what has no stages.
Status wait_until(const std::string& what, const WaitLimits& limits,
                  const std::function<Result<bool>()>& done);

/// "the machine's load is 15.2 on 2 processors", of the last minute; for a person who wonders why
/// something was too slow.
[[nodiscard]] std::string load_text();

}  // namespace gym::devnet
