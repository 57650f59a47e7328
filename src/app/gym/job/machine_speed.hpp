#pragma once

#include <cstdint>
#include <filesystem>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"

namespace gym::app {

/// How fast this machine's CPU trains, as `gym node bench` measures it.
struct MachineSpeed {
    std::uint64_t flops_per_second = 0;
    UnixMs measured_at_ms = 0;
};

/// The speed noted in `file`, if that is less than a month old and from as many cores; else it is
/// measured now, for a second or two, and noted. A note that cannot be written is no error.
/// @errors those of the benchmark.
[[nodiscard]] Result<MachineSpeed> machine_speed(const std::filesystem::path& file, UnixMs now_ms);

/// Where the note is: "speed.json" in the data directory of the node commands.
[[nodiscard]] Result<std::filesystem::path> machine_speed_file();

}  // namespace gym::app
