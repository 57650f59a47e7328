#pragma once

#include <cstdint>
#include <string>

#include "gym/common/result.hpp"

namespace gym {

/// Memory that a process can still get: free and reclaimable memory, or the rest that a container's
/// limit leaves, whichever is less. @errors kIo where Linux does not say.
[[nodiscard]] Result<std::uint64_t> available_memory_bytes();

/// "1.5 KiB", "12.3 MiB", "1.2 GiB".
[[nodiscard]] std::string memory_text(std::uint64_t bytes);

/// @errors kOutOfRange if `what` takes more memory than this machine has left.
[[nodiscard]] Status check_memory(const std::string& what, std::uint64_t bytes);

}  // namespace gym
