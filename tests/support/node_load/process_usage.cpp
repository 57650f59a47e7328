#include "process_usage.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace gym::testing {
namespace {

namespace fs = std::filesystem;

/// Fields of /proc/PID/stat from the third on: the second may hold spaces.
std::vector<std::string> stat_fields(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    const auto end = line.rfind(')');
    std::vector<std::string> out;
    if (end == std::string::npos) return out;
    std::istringstream rest(line.substr(end + 1));
    for (std::string field; rest >> field;)
        out.push_back(field);
    return out;
}

/// The sum of the lines "KEY: n kB" of a file in /proc/PID.
std::uint64_t kilobytes(pid_t pid, const std::string& file, const std::string& key) {
    std::ifstream in("/proc/" + std::to_string(pid) + "/" + file);
    std::uint64_t sum = 0;
    for (std::string line; std::getline(in, line);)
        if (line.starts_with(key + ":")) sum += std::stoull(line.substr(key.size() + 1));
    return sum;
}

double cpu_s(const std::vector<std::string>& fields, bool ended_children) {
    constexpr std::size_t kUser = 11;  // utime, stime, cutime, cstime
    if (fields.size() < kUser + 4) return 0;
    double ticks = std::stod(fields[kUser]) + std::stod(fields[kUser + 1]);
    if (ended_children) ticks += std::stod(fields[kUser + 2]) + std::stod(fields[kUser + 3]);
    return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

ProcessUsage usage_of(pid_t pid) {
    return {cpu_s(stat_fields(pid), false), kilobytes(pid, "status", "VmRSS") << 10U,
            kilobytes(pid, "status", "VmHWM") << 10U};
}

ProcessUsage usage_of_family(pid_t pid) {
    constexpr std::size_t kParent = 1;
    ProcessUsage sum;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc", error)) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        const auto member = static_cast<pid_t>(std::stol(name));
        const auto fields = stat_fields(member);
        const bool child = fields.size() > kParent && fields[kParent] == std::to_string(pid);
        if (member != pid && !child) continue;
        sum.cpu_s += cpu_s(fields, member == pid);
        sum.rss_bytes += kilobytes(member, "smaps_rollup", "Pss") << 10U;
    }
    sum.peak_bytes = sum.rss_bytes;
    return sum;
}

}  // namespace gym::testing
