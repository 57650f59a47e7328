#pragma once

#include <cstdint>
#include <string>

#include "gym/common/result.hpp"
#include "gym/contracts/deploy.hpp"

namespace gym::app {

/// What `gym operator deploy-contracts` reads; deploy/config/contracts.yaml documents every key.
struct ContractsFile {
    std::uint64_t chain_id = 0;
    contracts::DeployParams params;
};

/// @errors kIo, kNotFound, kInvalidArgument naming file, line and key.
[[nodiscard]] Result<ContractsFile> load_contracts_file(const std::string& path);

}  // namespace gym::app
