#pragma once

#include <cstdint>

namespace gym {

/// Lets this process hold `wanted` files and sockets open at once, as far as the system's hard
/// limit goes; never lowers what it may. @return how many it may hold now.
std::uint64_t raise_open_files(std::uint64_t wanted);

}  // namespace gym
