#include "gym/common/memory.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string_view>

namespace gym {
namespace {

/// "key: N kB" of /proc/meminfo, in bytes.
Result<std::uint64_t> meminfo(std::string_view key) {
    std::ifstream file("/proc/meminfo");
    std::string name;
    for (std::uint64_t kib = 0; file >> name >> kib; file.ignore(64, '\n'))
        if (name == key) return kib << 10;
    return fail(ErrorCode::kIo, "/proc/meminfo does not say how much memory is available");
}

std::ifstream cgroup_file(const char* name) {
    return std::ifstream(std::string("/sys/fs/cgroup/") + name);
}

/// A number in a file of the control group; none if there is no such file or no limit ("max").
std::optional<std::uint64_t> cgroup_bytes(const char* name) {
    std::ifstream file = cgroup_file(name);
    std::uint64_t bytes = 0;
    if (!(file >> bytes)) return std::nullopt;
    return bytes;
}

/// Memory that counts as used in a control group, but that the kernel can reclaim.
std::uint64_t cgroup_reclaimable() {
    std::ifstream file = cgroup_file("memory.stat");
    std::string name;
    std::uint64_t total = 0;
    for (std::uint64_t bytes = 0; file >> name >> bytes;)
        if (name == "active_file" || name == "inactive_file" || name == "slab_reclaimable")
            total += bytes;
    return total;
}

}  // namespace

Result<std::uint64_t> available_memory_bytes() {
    GYM_TRY(const std::uint64_t available, meminfo("MemAvailable:"));
    const auto limit = cgroup_bytes("memory.max"), used = cgroup_bytes("memory.current");
    if (!limit || !used) return available;
    const std::uint64_t held = *used - std::min(*used, cgroup_reclaimable());
    return std::min(available, *limit - std::min(held, *limit));
}

std::string memory_text(std::uint64_t bytes) {
    constexpr std::array<const char*, 3> kUnits{"KiB", "MiB", "GiB"};
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit)
        value /= 1024;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits[unit]);
    return text.data();
}

Status check_memory(const std::string& what, std::uint64_t bytes) {
    GYM_TRY(const std::uint64_t available, available_memory_bytes());
    if (bytes <= available) return {};
    return fail(ErrorCode::kOutOfRange, what + " takes " + memory_text(bytes) + " of memory, and " +
                                            memory_text(available) +
                                            " is available on this machine");
}

}  // namespace gym
