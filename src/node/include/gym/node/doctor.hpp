#pragma once

#include <string>
#include <vector>

#include "gym/node/node_config.hpp"

namespace gym::node {

struct Finding {
    std::string check;
    bool ok = false;
    std::string detail;  ///< what was found, or the remedy
};
/// Checks everything that a node needs and names a remedy for each failed check. Never fails as a
/// whole.
[[nodiscard]] std::vector<Finding> run_doctor(const NodeConfig& config);

}  // namespace gym::node
