#pragma once

#include <cstdint>
#include <filesystem>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::contracts {

/// Where our contracts are.
struct Deployment {
    std::uint64_t chain_id = 0;
    std::uint64_t start_block = 0;  ///< nothing of ours happened before
    Address token;
    Address distributor;
    Address escrow;
    Address commitment_log;
    Address stake;
    Address dispute_game;
    Address verifier_stake;  ///< zero: a network of before verifiers had stake
    Address report_game;     ///< that slashes it; zero as well
    friend bool operator==(const Deployment&, const Deployment&) = default;
};

/// JSON with the field names above. @errors kIo / kNotFound, kMalformed (also a file of before
/// there were disputes). Files of before verifiers had stake have no addresses of theirs.
Status save_deployment(const std::filesystem::path& path, const Deployment& deployment);
[[nodiscard]] Result<Deployment> load_deployment(const std::filesystem::path& path);

}  // namespace gym::contracts
