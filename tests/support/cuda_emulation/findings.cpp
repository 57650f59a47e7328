#include "findings.hpp"

#include <unistd.h>
#include <array>
#include <cstdio>
#include <set>
#include <utility>

#include "checked_memory.hpp"
#include "emulation.hpp"
#include "flips.hpp"

extern "C" const char __executable_start;

namespace gym::emulation {
namespace {

/// Beyond it, a broken kernel says nothing new.
constexpr std::size_t kFindingsMax = 50;

struct Findings {
    std::vector<Finding> found;
    std::set<std::pair<std::string, const void*>> seen;
};
Findings& findings() {
    static Findings instance;
    return instance;
}

/// "file.cu:123", from the program's own debug information; empty without addr2line.
std::string line_of(const void* site) {
    if (site == nullptr) return {};
    if (running.kernel && running.describe_site != nullptr) return running.describe_site(site);
    const auto base = reinterpret_cast<std::uintptr_t>(&__executable_start);
    const auto at = reinterpret_cast<std::uintptr_t>(site);
    if (at < base) return {};
    std::array<char, 64> address{};
    // The call before the return address.
    std::snprintf(address.data(), address.size(), "0x%zx", static_cast<std::size_t>(at - base - 1));
    const std::string command = "addr2line -s -e /proc/" + std::to_string(getpid()) + "/exe " +
                                address.data() + " 2>/dev/null";
    FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return {};
    std::array<char, 256> line{};
    const bool read = std::fgets(line.data(), line.size(), pipe) != nullptr;
    pclose(pipe);
    std::string text = read ? line.data() : "";
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    return text.starts_with("??") ? "" : text;
}

std::string triple(const Index3& index) {
    return std::to_string(index.x) + "," + std::to_string(index.y) + "," + std::to_string(index.z);
}

}  // namespace

void report(const std::string& what, const void* site, const std::string& detail) {
    if (is_astray()) return;
    const Unchecked unchecked;
    Findings& all = findings();
    if (all.found.size() >= kFindingsMax) return;
    const std::string kernel = running.kernel ? running.kernel_name : "host";
    if (!all.seen.emplace(what + kernel, site).second) return;
    std::string text = what;
    if (const std::string line = line_of(site); !line.empty()) text += " at " + line;
    text += ", " + kernel;
    if (running.kernel)
        text += ", block " + triple(place.block) + " thread " + std::to_string(running.thread);
    if (!detail.empty()) text += ": " + detail;
    std::fprintf(stderr, "finding: %s\n", text.c_str());
    all.found.push_back({what, text});
}

std::vector<Finding> take_findings() {
    findings().seen.clear();
    return std::exchange(findings().found, {});
}

}  // namespace gym::emulation
