#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gym {

/// The noun for so many: "step" for 1, "steps" for all others. @param many of a noun that does not
/// take an s.
[[nodiscard]] inline std::string plural(std::uint64_t count, std::string_view one,
                                        std::string_view many = {}) {
    if (count == 1) return std::string(one);
    return many.empty() ? std::string(one) + "s" : std::string(many);
}

/// "1 step", "3 steps".
[[nodiscard]] inline std::string counted(std::uint64_t count, std::string_view one,
                                         std::string_view many = {}) {
    return std::to_string(count) + " " + plural(count, one, many);
}

}  // namespace gym
