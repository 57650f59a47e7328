#include "cli/send_lock.hpp"

#include <cstdio>
#include <string>
#include <thread>
#include <utility>

#include "cli/rows.hpp"
#include "gym/crypto/key.hpp"

namespace gym::app {
namespace {

constexpr std::chrono::milliseconds kLookInterval{100};

}  // namespace

Result<SendLock> lock_sender(const std::filesystem::path& folder, const Address& sender,
                             std::chrono::milliseconds wait_max) {
    const std::filesystem::path path = folder / ("sending-" + sender.hex() + ".lock");
    const std::string who = crypto::to_checksum(sender);
    const auto last_look = std::chrono::steady_clock::now() + wait_max;
    for (bool waiting_shown = false;; waiting_shown = true) {
        auto lock = FileLock::acquire(path, "a gym command that sends from " + who);
        if (lock.ok()) return std::make_unique<FileLock>(std::move(*lock));
        if (lock.error().code != ErrorCode::kConflict) return lock.error();
        if (std::chrono::steady_clock::now() >= last_look)
            return fail(ErrorCode::kConflict, "another gym command still sends from " + who +
                                                  ": repeat this command when that one has ended");
        if (!waiting_shown)
            print_notice("waiting", "until another gym command that sends from {} has ended", who);
        std::this_thread::sleep_for(kLookInterval);
    }
}

}  // namespace gym::app
