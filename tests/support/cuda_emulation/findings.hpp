// What the checks of the emulation found. A test during which something was found fails
// (finding_listener.cpp), unless it takes the findings itself.
#pragma once

#include <string>
#include <vector>

namespace gym::emulation {

struct Finding {
    std::string what;
    std::string text;  ///< with the kernel, the thread and the line of source
};

/// Keeps and prints a finding; once for each `what`, site and kernel. None while a kernel is astray
/// (flips.hpp).
void report(const std::string& what, const void* site, const std::string& detail = {});

/// All since the last call.
std::vector<Finding> take_findings();

}  // namespace gym::emulation
