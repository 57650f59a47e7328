#pragma once

#include <cstdint>

namespace gym {

/// The whole: rates and shares are integers in parts per million.
inline constexpr std::uint32_t kPpm = 1'000'000;

}  // namespace gym
