#pragma once

#include <boost/json/array.hpp>
#include <vector>

#include "gym/contracts/admin_timelock.hpp"

namespace gym::app {

/// The changes that the admin of the contracts announced, as commands show them.
[[nodiscard]] boost::json::array changes_json(const contracts::Deployment& contracts,
                                              const contracts::AdminTimelock& timelock,
                                              const std::vector<contracts::PendingChange>& changes);
/// One row for each change and each of its calls.
void print_changes(const contracts::Deployment& contracts, const contracts::AdminTimelock& timelock,
                   const std::vector<contracts::PendingChange>& changes);

}  // namespace gym::app
