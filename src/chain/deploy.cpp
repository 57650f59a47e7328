#include "gym/chain/deploy.hpp"

#include "bindings.hpp"
#include "deployer.hpp"
#include "gym/crypto/keccak.hpp"

namespace gym::chain {
namespace {

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

/// All but Stake and DisputeGame. What needs nothing of another is on its way at once.
/// @return the rules in the order of DisputeGame's constructor.
Result<std::vector<Address>> deploy_money_and_rules(Deployer& deployer, const DeployParams& params,
                                                    Deployment& out) {
    const Address admin = deployer.manager().sender();
    // The token first: what it is in is the first block of ours.
    GYM_CHECK(deployer.submit("GymToken", {params.token_holder, params.token_supply}));
    GYM_CHECK(deployer.submit("CommitmentLog", {admin, params.admin_delay_s}));
    const char* const plain[] = {"ElementwiseOps", "MovementOps", "SumOps",
                                 "ProductOps",     "TreeRules",   "StepRules",
                                 "FaultRules",     "OuterRules",  "OuterProofs"};
    for (const char* name : plain)
        GYM_CHECK(deployer.submit(name, {}));
    GYM_TRY(const Placed token, deployer.placed("GymToken"));
    GYM_TRY(const Placed log, deployer.placed("CommitmentLog"));
    std::vector<Address> at;
    for (const char* name : plain) {
        GYM_TRY(const Placed contract, deployer.placed(name));
        at.push_back(contract.address);
    }

    GYM_CHECK(
        deployer.submit("RewardsDistributor", {token.address, admin, params.admin_delay_s,
                                               params.activation_delay_s, params.growth_limit}));
    GYM_CHECK(deployer.submit("OneStep", {at[0], at[1], at[2], at[3]}));
    GYM_CHECK(deployer.submit("OpeningRules", {log.address, params.dispute.window_blocks}));
    GYM_TRY(const Placed distributor, deployer.placed("RewardsDistributor"));
    GYM_TRY(const Placed one_step, deployer.placed("OneStep"));
    GYM_TRY(const Placed opening, deployer.placed("OpeningRules"));

    GYM_CHECK(deployer.submit(
        "JobEscrow", {token.address, distributor.address, admin, params.admin_delay_s,
                      params.withdrawal_delay_s, params.epoch_interval_s, params.release_cap}));
    GYM_CHECK(deployer.submit("ElementRules", {one_step.address}));
    GYM_TRY(const Placed escrow, deployer.placed("JobEscrow"));
    GYM_TRY(const Placed elements, deployer.placed("ElementRules"));
    out.start_block = token.block;
    out.token = token.address;
    out.distributor = distributor.address;
    out.escrow = escrow.address;
    out.commitment_log = log.address;
    return std::vector<Address>{opening.address,  at[4], at[5], at[6],
                                elements.address, at[7], at[8]};
}

}  // namespace

Result<Deployment> deploy(TxManager& manager, ChainClient& client,
                          const std::filesystem::path& artifacts, const DeployParams& params,
                          std::uint32_t timeout_ms) {
    GYM_CHECK(check_dispute_params(params.dispute));
    Deployment out;
    GYM_TRY(out.chain_id, client.chain_id());
    Deployer deployer(manager, artifacts, timeout_ms);
    GYM_TRY(const std::vector<Address> rules, deploy_money_and_rules(deployer, params, out));
    GYM_CHECK(deploy_game(deployer, params.dispute, rules, out));
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
