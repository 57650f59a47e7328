// What the admin of the contracts can do, as calls, and as people read them.
#include "bindings.hpp"
#include "gym/contracts/admin_timelock.hpp"
#include "gym/crypto/keccak.hpp"

namespace gym::contracts {
namespace {

constexpr std::string_view kGrant = "grantRole(bytes32,address)";
constexpr std::string_view kRevoke = "revokeRole(bytes32,address)";
constexpr std::string_view kUnpause = "unpause()";
constexpr const char* kRoleNames[] = {"SETTLER_ROLE",  "COORDINATOR_ROLE", "GUARDIAN_ROLE",
                                      "PROPOSER_ROLE", "EXECUTOR_ROLE",    "CANCELLER_ROLE"};

struct HeldRole {
    Address contract;
    const char* name;
};

std::vector<HeldRole> parts_of(const Deployment& at, const Address& timelock, AdminRole role) {
    switch (role) {
        case AdminRole::kSettler:
            return {{at.escrow, "SETTLER_ROLE"}, {at.distributor, "SETTLER_ROLE"}};
        case AdminRole::kCoordinator:
            return {{at.commitment_log, "COORDINATOR_ROLE"}};
        case AdminRole::kGuardian:
            return {{at.escrow, "GUARDIAN_ROLE"},
                    {at.distributor, "GUARDIAN_ROLE"},
                    {at.commitment_log, "GUARDIAN_ROLE"},
                    {timelock, "CANCELLER_ROLE"}};
        case AdminRole::kAdmin:
            return {{timelock, "PROPOSER_ROLE"},
                    {timelock, "EXECUTOR_ROLE"},
                    {timelock, "CANCELLER_ROLE"}};
    }
    return {};
}

std::vector<AdminCall> role_calls(std::string_view function, const std::vector<HeldRole>& parts,
                                  const Address& account) {
    std::vector<AdminCall> out;
    for (const HeldRole& part : parts)
        out.push_back(
            {part.contract, {}, call_data(function, {crypto::keccak256_text(part.name), account})});
    return out;
}

struct Limit {
    Address contract;
    std::string_view setter;
    std::string_view view;
};

Limit parts_of(const Deployment& at, AdminLimit limit) {
    switch (limit) {
        case AdminLimit::kReleaseCap:
            return {at.escrow, "setReleaseCap(uint256)", "releaseCap()"};
        case AdminLimit::kOwnerReleaseCap:
            return {at.escrow, "setOwnerReleaseCap(uint256)", "ownerReleaseCap()"};
        case AdminLimit::kGrowthLimit:
            return {at.distributor, "setGrowthLimit(uint256)", "growthLimit()"};
    }
    return {};
}

std::string contract_name(const Deployment& at, const Address& timelock, const Address& contract) {
    if (contract == at.escrow) return "JobEscrow";
    if (contract == at.distributor) return "RewardsDistributor";
    if (contract == at.commitment_log) return "CommitmentLog";
    if (contract == timelock) return "AdminTimelock";
    return contract.hex();
}

std::string role_name(const Digest& role) {
    for (const char* name : kRoleNames)
        if (crypto::keccak256_text(name) == role) return name;
    return "role " + role.hex();
}

/// The arguments of a call of this function; absent for another.
std::optional<std::vector<chain::AbiValue>> arguments_of(const AdminCall& call,
                                                         std::string_view function) {
    const auto signature = chain::AbiSignature::parse(function).value();
    const auto selector = signature.selector();
    if (call.data.size() < selector.size() ||
        !std::equal(selector.begin(), selector.end(), call.data.begin()))
        return std::nullopt;
    auto values = chain::abi_decode(signature.inputs, ByteView(call.data).subspan(4));
    if (!values.ok()) return std::nullopt;
    return std::move(*values);
}

std::optional<std::string> describe_role(const AdminCall& call, const std::string& where) {
    for (const auto& [function, verb, word] :
         {std::tuple{kGrant, "grant ", " to "}, {kRevoke, "revoke ", " from "}}) {
        const auto values = arguments_of(call, function);
        Digest role;
        Address account;
        if (!values || !read_all(*values, role, account).ok()) continue;
        return verb + role_name(role) + word + account.hex() + " in " + where;
    }
    return std::nullopt;
}

std::optional<std::string> describe_limit(const AdminCall& call, const std::string& where) {
    for (const AdminLimit limit :
         {AdminLimit::kReleaseCap, AdminLimit::kOwnerReleaseCap, AdminLimit::kGrowthLimit}) {
        const Limit parts = parts_of({}, limit);
        const auto values = arguments_of(call, parts.setter);
        Amount amount;
        if (!values || !read_all(*values, amount).ok()) continue;
        const std::string view(parts.view.substr(0, parts.view.find('(')));
        return "set " + view + " of " + where + " to " + amount.to_tokens() + " GYM";
    }
    return std::nullopt;
}

}  // namespace

std::vector<AdminCall> grant_calls(const Deployment& contracts, const Address& timelock,
                                   AdminRole role, const Address& account) {
    return role_calls(kGrant, parts_of(contracts, timelock, role), account);
}

std::vector<AdminCall> revoke_calls(const Deployment& contracts, const Address& timelock,
                                    AdminRole role, const Address& account) {
    return role_calls(kRevoke, parts_of(contracts, timelock, role), account);
}

Result<bool> holds_role(chain::ChainClient& client, const Deployment& contracts,
                        const Address& timelock, AdminRole role, const Address& account) {
    for (const HeldRole& part : parts_of(contracts, timelock, role)) {
        GYM_TRY(
            const auto values,
            call_view(client, part.contract, chain::BlockTag::kLatest, "hasRole(bytes32,address)",
                      {crypto::keccak256_text(part.name), account}, "_(bool)"));
        GYM_TRY(const bool held, values[0].boolean());
        if (held) return true;
    }
    return false;
}

AdminCall limit_call(const Deployment& contracts, AdminLimit limit, const Amount& amount) {
    const Limit parts = parts_of(contracts, limit);
    return {parts.contract, {}, call_data(parts.setter, {amount})};
}

Result<Amount> limit_of(chain::ChainClient& client, const Deployment& contracts, AdminLimit limit) {
    const Limit parts = parts_of(contracts, limit);
    return view_amount(client, parts.contract, chain::BlockTag::kLatest, parts.view, {});
}

Result<std::vector<AdminCall>> unpause_calls(chain::ChainClient& client,
                                             const Deployment& contracts) {
    std::vector<AdminCall> out;
    for (const Address& contract : {contracts.escrow, contracts.distributor}) {
        GYM_TRY(const auto values,
                call_view(client, contract, chain::BlockTag::kLatest, "paused()", {}, "_(bool)"));
        GYM_TRY(const bool paused, values[0].boolean());
        if (paused) out.push_back({contract, {}, call_data(kUnpause, {})});
    }
    return out;
}

std::string describe_call(const Deployment& contracts, const Address& timelock,
                          const AdminCall& call) {
    const std::string where = contract_name(contracts, timelock, call.target);
    if (const auto text = describe_role(call, where)) return *text;
    if (const auto text = describe_limit(call, where)) return *text;
    if (arguments_of(call, kUnpause)) return "end the pause of " + where;
    return "call " + where + " with " + to_hex0x(call.data) + " and " + call.value_wei.to_string() +
           " wei";
}

}  // namespace gym::contracts
