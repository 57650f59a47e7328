#include "cli/network_check.hpp"

#include <array>
#include <boost/json.hpp>
#include <cstdio>
#include <utility>

#include "cli/api_request.hpp"
#include "cli/rows.hpp"
#include "gym/chain/client.hpp"
#include "gym/contracts/account.hpp"
#include "gym/contracts/deployment.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

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
    return {};
}

Status check_network(const std::optional<std::string>& api_url,
                     const contracts::Deployment& contracts) {
    if (!api_url) return {};
    const auto answer = api_get(*api_url, "/v1/network");
    const json::object* const object = answer.ok() ? answer->if_object() : nullptr;
    const json::value* const id = object == nullptr ? nullptr : object->if_contains("chain_id");
    if (id == nullptr || !id->is_number()) {
        print_notice("not compared", "{}, so your deployment is not compared: {}",
                     "gym-api does not describe its network",
                     answer.ok() ? "its answer has another form" : answer.error().message.c_str());
        return {};
    }
    if (const std::string chain_id = json::serialize(*id);
        chain_id != std::to_string(contracts.chain_id))
        return differs("chain", chain_id, std::to_string(contracts.chain_id));
    for (const NamedContract& contract : named(contracts)) {
        // An older gym-api names fewer contracts.
        const json::value* const theirs = object->if_contains(contract.key);
        if (theirs == nullptr) continue;
        const std::string text = theirs->is_string() ? std::string(theirs->get_string()) : "none";
        if (text != contract.address.hex())
            return differs(contract.name, text, contract.address.hex());
    }
    return {};
}

}  // namespace gym::app
