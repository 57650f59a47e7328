#include "send_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include "gym/crypto/key.hpp"

namespace gym::app {
namespace {

constexpr std::chrono::milliseconds kLookInterval{100};

Error system_error(const std::filesystem::path& path) {
    return fail(ErrorCode::kIo, "cannot lock " + path.string() + ": " + std::strerror(errno));
}

}  // namespace

Result<SendLock> SendLock::acquire(const std::filesystem::path& folder, const Address& sender,
                                   std::chrono::milliseconds wait_max) {
    const std::filesystem::path path = folder / ("sending-" + sender.hex() + ".lock");
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return system_error(path);
    SendLock out(file);
    const std::string who = crypto::to_checksum(sender);
    const auto last_look = std::chrono::steady_clock::now() + wait_max;
    for (bool told = false; ::flock(file, LOCK_EX | LOCK_NB) != 0; told = true) {
        if (errno != EWOULDBLOCK && errno != EINTR) return system_error(path);
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
    return out;
}

SendLock::~SendLock() {
    if (file_ >= 0) ::close(file_);
}

}  // namespace gym::app
