#pragma once

#include <chrono>
#include <filesystem>
#include <memory>

#include "gym/common/bytes.hpp"
#include "gym/common/file_lock.hpp"
#include "gym/common/result.hpp"

namespace gym::app {

/// Longer than the last transaction of a command takes until it is final or given up.
inline constexpr std::chrono::milliseconds kSendWaitMax = std::chrono::minutes(15);

/// One command at a time sends from one key: two at once would sign permits with one nonce, of
/// which the chain takes one. A node that runs with the key does not hold it: it signs no permits.
using SendLock = std::unique_ptr<FileLock>;

/// Waits for a command that holds the lock, and says so on standard error.
/// @param folder where the key's transactions are remembered.
/// @errors kConflict after `wait_max`; kIo.
[[nodiscard]] Result<SendLock> lock_sender(const std::filesystem::path& folder,
                                           const Address& sender,
                                           std::chrono::milliseconds wait_max = kSendWaitMax);

}  // namespace gym::app
