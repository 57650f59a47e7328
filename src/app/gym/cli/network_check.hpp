#pragma once

#include <optional>
#include <string>

#include "gym/chain/client.hpp"
#include "gym/common/result.hpp"
#include "gym/contracts/deployment.hpp"

namespace gym::app {

/// Checks that there is code at every address of `contracts`: a call to an address without any
/// succeeds and does nothing. @errors kNotFound naming the contract; those of the chain.
[[nodiscard]] Status check_contracts(chain::ChainClient& client,
                                     const contracts::Deployment& contracts);

/// Checks that the network which gym-api serves is on the contracts of the user's file. If gym-api
/// does not describe its network, a notice on standard error says so and the command continues: the
/// file is what counts, and money must be movable without the API. @param api_url absent where the
/// user named none.
/// @errors kMismatch naming the contract and both addresses.
[[nodiscard]] Status check_network(const std::optional<std::string>& api_url,
                                   const contracts::Deployment& contracts);

/// The same deployment for what knows one stake and one game: those of verifiers and their reports.
/// @errors kNotFound: it has none.
[[nodiscard]] Result<contracts::Deployment> contracts_of_reports(contracts::Deployment contracts);

}  // namespace gym::app
