#pragma once

#include <cstdint>

#include "gym/common/result.hpp"
#include "gym/node/registration.hpp"

namespace gym::node {

/// What is lent: all that exists, if more was asked for, which is then told.
[[nodiscard]] Result<std::uint64_t> lent_memory(const NodeConfig& config,
                                                const RegisterOptions& options);

/// What of it an engine could have now. Of a GPU that is what is free, and less than is lent is
/// told; engines on a CPU look for themselves.
[[nodiscard]] Result<std::uint64_t> usable_memory(const NodeConfig& config, std::uint64_t lent,
                                                  const RegisterOptions& options);

}  // namespace gym::node
