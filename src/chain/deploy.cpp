#include "gym/chain/deploy.hpp"

#include "bindings.hpp"
#include "gym/crypto/keccak.hpp"

namespace gym::chain {
namespace {

struct Placed {
    Address address;
    std::uint64_t block = 0;
};

Result<Placed> create(TxManager& manager, const std::filesystem::path& artifacts,
                      const std::string& name, const std::vector<AbiValue>& arguments,
                      std::uint32_t timeout_ms) {
    GYM_TRY(const Artifact artifact, load_artifact(artifacts, name));
    auto encoded = abi_encode(artifact.constructor, arguments);
    if (!encoded.ok()) return encoded.error().in("constructor of " + name);
    IntentRequest request;
    request.id = "deploy/" + name;
    request.label = "deploy " + name;
    request.data = artifact.bytecode;
    request.data.insert(request.data.end(), encoded->begin(), encoded->end());
    GYM_CHECK(manager.submit(request));
    GYM_TRY(const Receipt receipt, manager.wait_mined(request.id, timeout_ms));
    if (!receipt.contract_address)
        return fail(ErrorCode::kMalformed, "the receipt of " + name + " names no contract");
    return Placed{*receipt.contract_address, receipt.block_number};
}

struct Grant {
    const char* contract;
    Address address;
    const char* role;
    Address holder;
};

std::string grant_id(const std::string& contract, const std::string& role) {
    return "deploy/grant/" + contract + "/" + role;
}

Status grant_roles(TxManager& manager, const std::vector<Grant>& grants, std::uint32_t timeout_ms) {
    const auto id_of = [](const Grant& grant) { return grant_id(grant.contract, grant.role); };
    for (const Grant& grant : grants) {
        const ContractCall call =
            make_call(grant.address, "grantRole(bytes32,address)",
                      {crypto::keccak256_text(grant.role), grant.holder},
                      std::string("grant ") + grant.role + " in " + grant.contract);
        GYM_CHECK(manager.submit(call.intent(id_of(grant))));
    }
    for (const Grant& grant : grants)
        GYM_CHECK(manager.wait_mined(id_of(grant), timeout_ms));
    return {};
}

}  // namespace

Result<Deployment> deploy(TxManager& manager, ChainClient& client,
                          const std::filesystem::path& artifacts, const DeployParams& params,
                          std::uint32_t timeout_ms) {
    Deployment out;
    GYM_TRY(out.chain_id, client.chain_id());
    const Address admin = manager.sender();
    GYM_TRY(const Placed token, create(manager, artifacts, "GymToken",
                                       {params.token_holder, params.token_supply}, timeout_ms));
    out.token = token.address;
    out.start_block = token.block;
    GYM_TRY(const Placed distributor, create(manager, artifacts, "RewardsDistributor",
                                             {token.address, admin, params.admin_delay_s,
                                              params.activation_delay_s, params.growth_limit},
                                             timeout_ms));
    out.distributor = distributor.address;
    GYM_TRY(const Placed escrow,
            create(manager, artifacts, "JobEscrow",
                   {token.address, distributor.address, admin, params.admin_delay_s,
                    params.withdrawal_delay_s, params.epoch_interval_s, params.release_cap},
                   timeout_ms));
    out.escrow = escrow.address;
    GYM_TRY(const Placed log,
            create(manager, artifacts, "CommitmentLog", {admin, params.admin_delay_s}, timeout_ms));
    out.commitment_log = log.address;
    GYM_CHECK(
        grant_roles(manager,
                    {{"JobEscrow", out.escrow, "SETTLER_ROLE", params.settler},
                     {"JobEscrow", out.escrow, "GUARDIAN_ROLE", params.guardian},
                     {"RewardsDistributor", out.distributor, "SETTLER_ROLE", params.settler},
                     {"RewardsDistributor", out.distributor, "GUARDIAN_ROLE", params.guardian},
                     {"CommitmentLog", out.commitment_log, "COORDINATOR_ROLE", params.coordinator}},
                    timeout_ms));
    return out;
}

Status wait_deployment_final(TxManager& manager, std::uint32_t timeout_ms) {
    // The last transaction: all others have lower nonces, so they are final when it is.
    GYM_TRY(const Intent last,
            manager.wait(grant_id("CommitmentLog", "COORDINATOR_ROLE"), timeout_ms));
    if (last.state == IntentState::kDone) return {};
    return fail(ErrorCode::kConflict,
                "the last step of the deployment ended as " + std::string(to_string(last.state)));
}

}  // namespace gym::chain
