#pragma once

#include <optional>
#include <set>
#include <string>

#include "context.hpp"

namespace gym::coordinator {

/// The live workers that have the network's minimum of stake; absent where there is no minimum.
/// Asks the chain, so not inside a transaction. @errors as StakePort.
[[nodiscard]] Result<std::optional<std::set<Address>>> staked_workers(const Context& context);

/// Why a worker gets no unit for its stake, and which command helps; empty if it has enough, or
/// there is no minimum.
[[nodiscard]] std::string stake_missing(const Context& context, const Address& worker);

}  // namespace gym::coordinator
