#include "bindings.hpp"
#include "gym/chain/dispute_contracts.hpp"

namespace gym::chain {
namespace {

const Declaration kStaked =
    Declaration::of("Staked(address indexed owner, address indexed from, uint256 amount)");
const Declaration kThawStarted = Declaration::of(
    "ThawStarted(address indexed owner, uint256 amount, uint256 shares, uint64 availableAt)");
const Declaration kWithdrawn =
    Declaration::of("StakeWithdrawn(address indexed owner, uint256 amount)");
const Declaration kLocks = Declaration::of("LocksChanged(address indexed owner, uint256 locks)");
const Declaration kSlashed = Declaration::of(
    "Slashed(address indexed owner, address indexed finder, address indexed compensated, uint256 "
    "burned, uint256 reward, uint256 compensation)");

Result<Slashed> slashed(const std::vector<AbiValue>& values) {
    Slashed event;
    GYM_TRY(event.owner, values[0].address());
    GYM_TRY(event.finder, values[1].address());
    GYM_TRY(event.compensated, values[2].address());
    GYM_TRY(event.burned, values[3].amount());
    GYM_TRY(event.reward, values[4].amount());
    GYM_TRY(event.compensation, values[5].amount());
    return event;
}

Result<Address> view_address(ChainClient& client, const Address& contract,
                             std::string_view function) {
    GYM_TRY(const auto values,
            call_view(client, contract, BlockTag::kLatest, function, {}, "_(address)"));
    return values[0].address();
}

}  // namespace

ContractCall Stake::stake(const Address& owner, const Amount& amount) const {
    return make_call(address_, "stake(address,uint256)", {owner, amount},
                     "stake " + amount.to_string() + " for " + owner.hex());
}

ContractCall Stake::stake_with_permit(const Address& owner, const Amount& amount,
                                      std::uint64_t deadline_s,
                                      const crypto::Signature& permit) const {
    const auto& bytes = permit.data;
    return make_call(
        address_, "stakeWithPermit(address,uint256,uint256,uint8,bytes32,bytes32)",
        {owner, amount, deadline_s, std::uint64_t{bytes[64]},
         Bytes(bytes.begin(), bytes.begin() + 32), Bytes(bytes.begin() + 32, bytes.begin() + 64)},
        "stake " + amount.to_string() + " for " + owner.hex());
}

ContractCall Stake::thaw(const Amount& amount) const {
    return make_call(address_, "thaw(uint256)", {amount}, "thaw " + amount.to_string());
}

ContractCall Stake::withdraw() const {
    return make_call(address_, "withdraw()", {}, "withdraw thawed stake");
}

Result<Stake::Holding> Stake::stake_of(ChainClient& client, const Address& owner,
                                       const BlockId& at) const {
    GYM_TRY(const auto values, call_view(client, address_, at, "stakeOf(address)", {owner},
                                         "_(uint256,uint256,uint256)"));
    Holding out;
    GYM_TRY(out.active, values[0].amount());
    GYM_TRY(out.thawing, values[1].amount());
    GYM_TRY(out.locks, values[2].u64());
    return out;
}

Result<std::uint64_t> Stake::thaw_count(ChainClient& client, const Address& owner,
                                        const BlockId& at) const {
    GYM_TRY(const Amount count, view_amount(client, address_, at, "thawCount(address)", {owner}));
    return count.to_u64();
}

Result<std::uint64_t> Stake::thaw_period_s(ChainClient& client) const {
    GYM_TRY(const Amount period,
            view_amount(client, address_, BlockTag::kLatest, "thawPeriod()", {}));
    return period.to_u64();
}

Result<Address> Stake::token(ChainClient& client) const {
    return view_address(client, address_, "token()");
}

Result<Address> Stake::game(ChainClient& client) const {
    return view_address(client, address_, "game()");
}

std::vector<Digest> Stake::topics() {
    return {kStaked.signature.hash(), kThawStarted.signature.hash(), kWithdrawn.signature.hash(),
            kLocks.signature.hash(), kSlashed.signature.hash()};
}

Result<std::optional<StakeEvent>> Stake::parse_event(const Log& log) const {
    using Out = std::optional<StakeEvent>;
    if (is_event(kStaked, address_, log)) {
        GYM_TRY(const auto values, decode_event(kStaked, log));
        Staked event;
        GYM_TRY(event.owner, values[0].address());
        GYM_TRY(event.from, values[1].address());
        GYM_TRY(event.amount, values[2].amount());
        return Out(event);
    }
    if (is_event(kThawStarted, address_, log)) {
        GYM_TRY(const auto values, decode_event(kThawStarted, log));
        ThawStarted event;
        GYM_TRY(event.owner, values[0].address());
        GYM_TRY(event.amount, values[1].amount());
        GYM_TRY(event.shares, values[2].amount());
        GYM_TRY(event.available_at_s, values[3].u64());
        return Out(event);
    }
    if (is_event(kWithdrawn, address_, log)) {
        GYM_TRY(const auto values, decode_event(kWithdrawn, log));
        StakeWithdrawn event;
        GYM_TRY(event.owner, values[0].address());
        GYM_TRY(event.amount, values[1].amount());
        return Out(event);
    }
    if (is_event(kLocks, address_, log)) {
        GYM_TRY(const auto values, decode_event(kLocks, log));
        LocksChanged event;
        GYM_TRY(event.owner, values[0].address());
        GYM_TRY(event.locks, values[1].u64());
        return Out(event);
    }
    if (is_event(kSlashed, address_, log)) {
        GYM_TRY(const auto values, decode_event(kSlashed, log));
        GYM_TRY(const Slashed event, slashed(values));
        return Out(event);
    }
    return Out();
}

}  // namespace gym::chain
