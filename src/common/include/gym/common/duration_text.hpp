#pragma once

#include <string>

/// Times for people. Pure functions of seconds from 0 on.
namespace gym {

/// "12 s", "3.2 min", "5.1 h", "4.0 days"; "less than 0.1 s" for what is shorter.
[[nodiscard]] std::string duration_text(double seconds);
/// "3.2 to 9.0 min": both in the larger one's unit; one value where they read the same.
[[nodiscard]] std::string duration_text(double low_s, double high_s);

}  // namespace gym
