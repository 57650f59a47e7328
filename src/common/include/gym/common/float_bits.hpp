#pragma once

#include <cstdint>
#include <string>

namespace gym {

/// The bits of a binary32 as one number, "0x40b00000": how a loss is written where it is compared.
[[nodiscard]] std::string bits_text(std::uint32_t bits);

}  // namespace gym
