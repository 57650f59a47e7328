#include "gym/contracts/rewards_distributor.hpp"

#include "bindings.hpp"

namespace gym::contracts {
namespace {

const std::vector<EventBinding<DistributorEvent>>& events() {
    static const std::vector<EventBinding<DistributorEvent>> all = {
        event_of<DistributorEvent>("RootSubmitted(uint64 indexed epoch, bytes32 root, uint256 "
                                   "totalCumulative, bytes32 epochFileRoot, uint64 activeAt)",
                                   &RootSubmitted::epoch, &RootSubmitted::root,
                                   &RootSubmitted::total_cumulative,
                                   &RootSubmitted::epoch_file_root, &RootSubmitted::active_at_s),
        event_of<DistributorEvent>("RootDisabled(uint64 indexed epoch)", &RootDisabled::epoch),
        event_of<DistributorEvent>(
            "LeafDemanded(uint64 indexed epoch, address indexed earner, uint256 cumulative, "
            "address by)",
            &LeafDemanded::epoch, &LeafDemanded::earner, &LeafDemanded::cumulative,
            &LeafDemanded::by),
        event_of<DistributorEvent>("LeafShown(uint64 indexed epoch, address indexed earner)",
                                   &LeafShown::epoch, &LeafShown::earner),
        event_of<DistributorEvent>("Claimed(address indexed earner, address indexed recipient, "
                                   "uint256 amount, uint256 cumulative)",
                                   &Claimed::earner, &Claimed::recipient, &Claimed::amount,
                                   &Claimed::cumulative),
        event_of<DistributorEvent>(
            "RecipientSet(address indexed earner, address indexed recipient)",
            &RecipientSet::earner, &RecipientSet::recipient),
    };
    return all;
}

chain::AbiValue::List claim_values(const Claim& claim) {
    chain::AbiValue::List path;
    for (const payouts::PayoutStep& step : claim.path)
        path.emplace_back(chain::AbiValue::List{step.sibling.hash, step.sibling.sum, step.pivot});
    return {claim.earner, claim.cumulative, chain::AbiValue(std::move(path))};
}

chain::AbiValue leaf(const Claim& claim) {
    return chain::AbiValue(claim_values(claim));
}

std::string of_epoch(std::uint64_t epoch) {
    return " the payout root of epoch " + std::to_string(epoch);
}

Result<RootSubmitted> view_root(chain::ChainClient& client, const Address& contract,
                                const chain::BlockId& at, std::string_view function) {
    GYM_TRY(const auto values, call_view(client, contract, at, function, {},
                                         "_(uint64,bytes32,uint256,bytes32,uint64)"));
    RootSubmitted out;
    GYM_CHECK(read_all(values, out.epoch, out.root, out.total_cumulative, out.epoch_file_root,
                       out.active_at_s));
    return out;
}

}  // namespace

ContractCall RewardsDistributor::submit_root(const RootSubmitted& root) const {
    return make_call(address_, "submitRoot(uint64,bytes32,uint256,bytes32)",
                     {root.epoch, root.root, root.total_cumulative, root.epoch_file_root},
                     "submit the payout root of epoch " + std::to_string(root.epoch));
}

ContractCall RewardsDistributor::disable(std::uint64_t epoch) const {
    return make_call(address_, "disable(uint64)", {epoch},
                     "disable the payout root of epoch " + std::to_string(epoch));
}

ContractCall RewardsDistributor::disable_fallen(std::uint64_t epoch, const Claim& active,
                                                const Claim& pending) const {
    return make_call(address_,
                     "disableFallen(uint64,(address,uint256,(bytes32,uint128,address)[]),"
                     "(address,uint256,(bytes32,uint128,address)[]))",
                     {epoch, leaf(active), leaf(pending)},
                     "disable" + of_epoch(epoch) + ", under which " + active.earner.hex() +
                         " has less than before");
}

ContractCall RewardsDistributor::demand_leaf(std::uint64_t epoch, const Claim& active) const {
    return make_call(
        address_, "demandLeaf(uint64,(address,uint256,(bytes32,uint128,address)[]))",
        {epoch, leaf(active)},
        "demand that" + of_epoch(epoch) + " show what " + active.earner.hex() + " has under it");
}

ContractCall RewardsDistributor::show_leaf(std::uint64_t epoch, const Claim& pending) const {
    return make_call(address_, "showLeaf(uint64,(address,uint256,(bytes32,uint128,address)[]))",
                     {epoch, leaf(pending)},
                     "show what " + pending.earner.hex() + " has under" + of_epoch(epoch));
}

ContractCall RewardsDistributor::reclaim_bond(std::uint64_t epoch, const Address& earner) const {
    return make_call(address_, "reclaimBond(uint64,address)", {epoch, earner},
                     "take back the bond of a demand to" + of_epoch(epoch));
}

ContractCall RewardsDistributor::claim(const Claim& claim) const {
    return make_call(address_, "claim(address,uint256,(bytes32,uint128,address)[])",
                     claim_values(claim), "claim the rewards of " + claim.earner.hex());
}

ContractCall RewardsDistributor::claim_many(const std::vector<Claim>& claims) const {
    chain::AbiValue::List list;
    for (const Claim& claim : claims)
        list.emplace_back(claim_values(claim));
    return make_call(address_, "claimMany((address,uint256,(bytes32,uint128,address)[])[])",
                     {chain::AbiValue(std::move(list))},
                     "claim the rewards of " + std::to_string(claims.size()) + " earner(s)");
}

Result<RootSubmitted> RewardsDistributor::active_root(chain::ChainClient& client,
                                                      const chain::BlockId& at) const {
    return view_root(client, address_, at, "activeRoot()");
}

Result<RootSubmitted> RewardsDistributor::pending_root(chain::ChainClient& client,
                                                       const chain::BlockId& at) const {
    return view_root(client, address_, at, "pendingRoot()");
}

Result<Amount> RewardsDistributor::claimed(chain::ChainClient& client, const Address& earner,
                                           const chain::BlockId& at) const {
    return view_amount(client, address_, at, "claimed(address)", {earner});
}

Result<Amount> RewardsDistributor::demand_bond(chain::ChainClient& client) const {
    return view_amount(client, address_, chain::BlockTag::kLatest, "demandBond()", {});
}

Result<Amount> RewardsDistributor::open_demands(chain::ChainClient& client,
                                                const chain::BlockId& at) const {
    return view_amount(client, address_, at, "openDemands()", {});
}

Result<Amount> RewardsDistributor::growth_limit(chain::ChainClient& client) const {
    return view_amount(client, address_, chain::BlockTag::kLatest, "growthLimit()", {});
}

Result<Amount> RewardsDistributor::total_claimed(chain::ChainClient& client,
                                                 const chain::BlockId& at) const {
    return view_amount(client, address_, at, "totalClaimed()", {});
}

Result<Address> RewardsDistributor::recipient_of(chain::ChainClient& client,
                                                 const Address& earner) const {
    GYM_TRY(const auto values, call_view(client, address_, chain::BlockTag::kLatest,
                                         "recipientOf(address)", {earner}, "_(address)"));
    return values[0].address();
}

Result<Digest> RewardsDistributor::leaf_of(chain::ChainClient& client, const Address& earner,
                                           const Amount& cumulative) const {
    GYM_TRY(const auto values,
            call_view(client, address_, chain::BlockTag::kLatest, "leafOf(address,uint256)",
                      {earner, cumulative}, "_(bytes32)"));
    return values[0].digest();
}

std::vector<Digest> RewardsDistributor::topics() {
    return topics_of(events());
}

Result<std::optional<DistributorEvent>> RewardsDistributor::parse_event(
    const chain::Log& log) const {
    return find_event(events(), address_, log);
}

}  // namespace gym::contracts
