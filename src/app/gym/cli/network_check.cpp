#include "cli/network_check.hpp"

#include <array>
#include <cstdio>
#include <utility>

#include "cli/rows.hpp"
#include "gym/chain/client.hpp"
#include "gym/client/api_client.hpp"
#include "gym/contracts/account.hpp"
#include "gym/contracts/deployment.hpp"

namespace gym::app {
namespace {

struct NamedContract {
    const char* key;  ///< in the answer of /v1/network
    const char* name;
    const Address& address;
};

std::array<NamedContract, 6> named(const contracts::Deployment& contracts) {
    return {{{"token", "token", contracts.token},
             {"job_escrow", "job escrow", contracts.escrow},
             {"rewards_distributor", "rewards distributor", contracts.distributor},
             {"commitment_log", "commitment log", contracts.commitment_log},
             {"stake", "stake", contracts.stake},
             {"dispute_game", "dispute game", contracts.dispute_game}}};
}

Error differs(const std::string& what, const std::string& theirs, const std::string& ours) {
    return fail(
        ErrorCode::kMismatch,
        "the " + what + " of gym-api's network is " + theirs + ", your deployment has " + ours +
            ": nothing was sent. Ask the network's operator for its deployment.json, or name its "
            "gym-api with --api or GYM_API (without either, only your file counts)");
}

}  // namespace

Status check_contracts(chain::ChainClient& client, const contracts::Deployment& contracts) {
    for (const NamedContract& contract : named(contracts))
        GYM_CHECK(contracts::check_contract(client, contract.address, contract.name));
    if (contracts.verifier_stake.is_zero()) return {};
    GYM_CHECK(contracts::check_contract(client, contracts.verifier_stake, "verifiers' stake"));
    return contracts::check_contract(client, contracts.report_game, "report game");
}

Result<contracts::Deployment> contracts_of_reports(contracts::Deployment contracts) {
    if (contracts.verifier_stake.is_zero())
        return fail(
            ErrorCode::kNotFound,
            "verifiers of this network have no stake: its contracts are of before there was "
            "one");
    contracts.stake = contracts.verifier_stake;
    contracts.dispute_game = contracts.report_game;
    return contracts;
}

Status check_network(const std::optional<std::string>& api_url,
                     const contracts::Deployment& contracts) {
    if (!api_url) return {};
    const auto network = client::ApiClient({.url = *api_url, .key = {}}).network();
    if (!network.ok()) {
        print_notice("not compared",
                     "gym-api does not describe its network, so your deployment is not compared: "
                     "{}",
                     network.error().message);
        return {};
    }
    if (const std::string ours = std::to_string(contracts.chain_id); network->chain_id != ours)
        return differs("chain", network->chain_id, ours);
    for (const NamedContract& contract : named(contracts)) {
        // An older gym-api names fewer contracts.
        const std::string* const theirs = network->find(contract.key);
        if (theirs != nullptr && *theirs != contract.address.hex())
            return differs(contract.name, *theirs, contract.address.hex());
    }
    return {};
}

}  // namespace gym::app
