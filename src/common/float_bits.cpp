#include "gym/common/float_bits.hpp"

#include <array>

#include "gym/common/bytes.hpp"

namespace gym {

std::string bits_text(std::uint32_t bits) {
    std::array<std::uint8_t, 4> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::uint8_t>(bits >> (24 - 8 * i));
    return to_hex0x(bytes);
}

}  // namespace gym
