#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/game/dispute_params.hpp"
#include "gym/protocol/incentives.hpp"

namespace gym::app {

/// A term that the file says otherwise than the contracts, which cannot be changed.
struct Overruled {
    std::string key;  ///< "times.clock_s"
    double written = 0;
    double deployed = 0;
};

struct ParamsFile {
    protocol::IncentiveParams params;
    std::vector<Overruled> overruled;  ///< empty without contracts
};

/// Reads what `gym params check` checks; examples/params.yaml documents every key. What contracts
/// fix may be left out of the file and is then as `contracts` says, or as they are deployed by
/// default. @param contracts what is or will be deployed: the file cannot change it, and the
/// differences are in `overruled`. nullopt: the file's own terms are checked.
/// @errors kIo, kNotFound, kInvalidArgument naming file, line and key.
[[nodiscard]] Result<ParamsFile> load_params_file(
    const std::string& path, const std::optional<game::DisputeParams>& contracts);

}  // namespace gym::app
