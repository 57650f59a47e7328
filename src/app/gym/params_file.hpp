#pragma once

#include <string>

#include "gym/chain/deploy.hpp"
#include "gym/common/result.hpp"
#include "gym/protocol/incentives.hpp"

namespace gym::app {

/// Reads what `gym params check` checks; examples/params.yaml documents every key. What `contracts`
/// fixes may be left out of the file and is then as there.
/// @errors kIo, kNotFound, kInvalidArgument naming file, line and key.
[[nodiscard]] Result<protocol::IncentiveParams> load_params_file(
    const std::string& path, const chain::DisputeParams& contracts);

}  // namespace gym::app
