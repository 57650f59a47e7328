#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gym/chain/abi.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::contracts {

/// The parts of forge's output about a contract that we read.
struct Artifact {
    std::string name;
    Bytes bytecode;  ///< creation code, without constructor arguments
    std::vector<chain::AbiType> constructor;
    std::vector<std::string> functions;  ///< "release(uint64,address[],uint256[])"
    std::vector<std::string> events;
    std::vector<std::string> errors;
};

/// Reads `folder`/NAME.sol/NAME.json. @errors kNotFound, kIo, kMalformed (also bytecode with
/// unlinked libraries).
[[nodiscard]] Result<Artifact> load_artifact(const std::filesystem::path& folder,
                                             const std::string& name);

/// $GYM_CONTRACTS_OUT, else contracts/out of data_folder().
/// @errors kNotFound.
[[nodiscard]] Result<std::filesystem::path> find_artifacts();

}  // namespace gym::contracts
