#include "bindings.hpp"
#include "gym/chain/contracts.hpp"

namespace gym::chain {
namespace {

const Declaration kRootSubmitted = Declaration::of(
    "RootSubmitted(uint64 indexed epoch, bytes32 root, uint256 totalCumulative, "
    "bytes32 epochFileRoot, uint64 activeAt)");
const Declaration kRootDisabled = Declaration::of("RootDisabled(uint64 indexed epoch)");
const Declaration kClaimed = Declaration::of(
    "Claimed(address indexed earner, address indexed recipient, uint256 amount, uint256 "
    "cumulative)");
const Declaration kRecipientSet =
    Declaration::of("RecipientSet(address indexed earner, address indexed recipient)");

AbiValue::List claim_values(const Claim& claim) {
    return {claim.earner, claim.cumulative, AbiValue::array(claim.proof)};
}

Result<RootSubmitted> root_from(const std::vector<AbiValue>& values) {
    RootSubmitted out;
    GYM_TRY(out.epoch, values[0].u64());
    GYM_TRY(out.root, values[1].digest());
    GYM_TRY(out.total_cumulative, values[2].amount());
    GYM_TRY(out.epoch_file_root, values[3].digest());
    GYM_TRY(out.active_at_s, values[4].u64());
    return out;
}

Result<RootSubmitted> view_root(ChainClient& client, const Address& contract, const BlockId& at,
                                std::string_view function) {
    GYM_TRY(const auto values, call_view(client, contract, at, function, {},
                                         "_(uint64,bytes32,uint256,bytes32,uint64)"));
    return root_from(values);
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
    GYM_ASSERT(active.earner == pending.earner, "two leaves of one earner");
    return make_call(address_, "disableFallen(uint64,address,uint256,bytes32[],uint256,bytes32[])",
                     {epoch, active.earner, active.cumulative, AbiValue::array(active.proof),
                      pending.cumulative, AbiValue::array(pending.proof)},
                     "disable the payout root of epoch " + std::to_string(epoch) +
                         ", under which " + active.earner.hex() + " has less than before");
}

ContractCall RewardsDistributor::claim(const Claim& claim) const {
    return make_call(address_, "claim(address,uint256,bytes32[])", claim_values(claim),
                     "claim the rewards of " + claim.earner.hex());
}

ContractCall RewardsDistributor::claim_many(const std::vector<Claim>& claims) const {
    AbiValue::List list;
    for (const Claim& claim : claims)
        list.emplace_back(claim_values(claim));
    return make_call(address_, "claimMany((address,uint256,bytes32[])[])",
                     {AbiValue(std::move(list))},
                     "claim the rewards of " + std::to_string(claims.size()) + " earner(s)");
}

ContractCall RewardsDistributor::set_recipient(const Address& recipient) const {
    return make_call(address_, "setRecipient(address)", {recipient},
                     "have rewards paid to " + recipient.hex());
}

Result<RootSubmitted> RewardsDistributor::active_root(ChainClient& client,
                                                      const BlockId& at) const {
    return view_root(client, address_, at, "activeRoot()");
}

Result<RootSubmitted> RewardsDistributor::pending_root(ChainClient& client,
                                                       const BlockId& at) const {
    return view_root(client, address_, at, "pendingRoot()");
}

Result<std::uint64_t> RewardsDistributor::last_epoch(ChainClient& client) const {
    GYM_TRY(const auto values,
            call_view(client, address_, BlockTag::kLatest, "lastEpoch()", {}, "_(uint64)"));
    return values[0].u64();
}

Result<Amount> RewardsDistributor::claimed(ChainClient& client, const Address& earner,
                                           const BlockId& at) const {
    return view_amount(client, address_, at, "claimed(address)", {earner});
}

Result<Amount> RewardsDistributor::growth_limit(ChainClient& client) const {
    return view_amount(client, address_, BlockTag::kLatest, "growthLimit()", {});
}

Result<Amount> RewardsDistributor::total_claimed(ChainClient& client, const BlockId& at) const {
    return view_amount(client, address_, at, "totalClaimed()", {});
}

Result<Address> RewardsDistributor::recipient_of(ChainClient& client, const Address& earner) const {
    GYM_TRY(const auto values, call_view(client, address_, BlockTag::kLatest,
                                         "recipientOf(address)", {earner}, "_(address)"));
    return values[0].address();
}

Result<Digest> RewardsDistributor::leaf_of(ChainClient& client, const Address& earner,
                                           const Amount& cumulative) const {
    GYM_TRY(const auto values,
            call_view(client, address_, BlockTag::kLatest, "leafOf(address,uint256)",
                      {earner, cumulative}, "_(bytes32)"));
    return values[0].digest();
}

std::vector<Digest> RewardsDistributor::topics() {
    return {kRootSubmitted.signature.hash(), kRootDisabled.signature.hash(),
            kClaimed.signature.hash(), kRecipientSet.signature.hash()};
}

Result<std::optional<DistributorEvent>> RewardsDistributor::parse_event(const Log& log) const {
    using Out = std::optional<DistributorEvent>;
    if (is_event(kRootSubmitted, address_, log)) {
        GYM_TRY(const auto values, decode_event(kRootSubmitted, log));
        GYM_TRY(const RootSubmitted event, root_from(values));
        return Out(event);
    }
    if (is_event(kRootDisabled, address_, log)) {
        GYM_TRY(const auto values, decode_event(kRootDisabled, log));
        RootDisabled event;
        GYM_TRY(event.epoch, values[0].u64());
        return Out(event);
    }
    if (is_event(kClaimed, address_, log)) {
        GYM_TRY(const auto values, decode_event(kClaimed, log));
        Claimed event;
        GYM_TRY(event.earner, values[0].address());
        GYM_TRY(event.recipient, values[1].address());
        GYM_TRY(event.amount, values[2].amount());
        GYM_TRY(event.cumulative, values[3].amount());
        return Out(event);
    }
    if (is_event(kRecipientSet, address_, log)) {
        GYM_TRY(const auto values, decode_event(kRecipientSet, log));
        RecipientSet event;
        GYM_TRY(event.earner, values[0].address());
        GYM_TRY(event.recipient, values[1].address());
        return Out(event);
    }
    return Out();
}

}  // namespace gym::chain
