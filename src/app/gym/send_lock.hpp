#pragma once

#include <chrono>
#include <filesystem>
#include <utility>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::app {

/// Longer than the last transaction of a command takes until it is final or given up.
inline constexpr std::chrono::milliseconds kSendWaitMax = std::chrono::minutes(15);

/// One command at a time sends from one key: two at once would sign permits with one nonce, of
/// which the chain takes one. The kernel drops the lock with the process, however it ends. A node
/// that runs with the key does not hold it: it signs no permits.
class SendLock {
  public:
    /// Waits for a command that holds it, and says so on standard error.
    /// @param folder where the key's transactions are remembered.
    /// @errors kConflict after `wait_max`; kIo.
    static Result<SendLock> acquire(const std::filesystem::path& folder, const Address& sender,
                                    std::chrono::milliseconds wait_max = kSendWaitMax);
    SendLock() = default;
    SendLock(SendLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
    SendLock& operator=(SendLock&& other) noexcept {
        std::swap(file_, other.file_);
        return *this;
    }
    ~SendLock();

  private:
    explicit SendLock(int file) : file_(file) {}
    int file_ = -1;  ///< -1: nothing is held
};

}  // namespace gym::app
