#include "cli/send_lock.hpp"

#include <cstdio>
#include <string>
#include <thread>
#include <utility>

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
    for (bool told = false;; told = true) {
        auto lock = FileLock::acquire(path, "a gym command that sends from " + who);
        if (lock.ok()) return std::make_unique<FileLock>(std::move(*lock));
        if (lock.error().code != ErrorCode::kConflict) return lock.error();
        if (std::chrono::steady_clock::now() >= last_look)
            return fail(ErrorCode::kConflict, "another gym command still sends from " + who +
                                                  ": repeat this one when it has ended");
        if (!told)
            (void)std::fprintf(stderr,
                               "waiting            until another gym command that sends from %s "
                               "has ended\n",
                               who.c_str());
        std::this_thread::sleep_for(kLookInterval);
    }
}

}  // namespace gym::app
