#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "context.hpp"

namespace gym::coordinator {

/// The active stakes of live workers, those without any left out.
using Stakes = std::map<Address, Amount>;

/// Absent where no stake is needed. Asks the chain, so not inside a transaction.
/// @errors as StakePort.
[[nodiscard]] Result<std::optional<Stakes>> stakes_of_workers(const Context& context);

/// Why a worker gets no unit for its stake, and which command helps; empty if it has enough for one
/// of the running jobs, or none is needed.
[[nodiscard]] std::string stake_missing(const Context& context, const Address& worker,
                                        std::span<const registry::Job> running);

/// Looks which live verifiers stake enough to be drawn, once a tick. Without an answer of the chain
/// those of the last one may be. @errors as StakePort.
Status look_at_verifiers(const Context& context);

/// What a verifier's stake lacks, as stake_missing() says it of a worker: the same for every unit.
/// Empty: nothing.
[[nodiscard]] std::string verifier_stake_missing(const Context& context, const Address& verifier);

}  // namespace gym::coordinator
