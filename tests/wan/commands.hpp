#pragma once

#include <string>

#include "network.hpp"

namespace gym::wan {

/// Carries out one line of what wan_link reads: `cut REGION`, `heal REGION`, `loss INSIDE_PPM
/// BETWEEN_PPM`, `stats`, `reset`. @return the answer, one line of JSON: {"ok":true}, the
/// statistics, or {"error":"..."}.
[[nodiscard]] std::string carry_out(const std::string& line, Network& network);

/// {"late_us_max":..., "pairs":[{"from","to","packets","bytes","lost","full","cut"}]}; pairs
/// between which nothing was sent are left out.
[[nodiscard]] std::string statistics(const Network& network);

}  // namespace gym::wan
