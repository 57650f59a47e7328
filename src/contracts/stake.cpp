#include "gym/contracts/stake.hpp"

#include "bindings.hpp"

namespace gym::contracts {
namespace {

const std::vector<EventBinding<StakeEvent>>& events() {
    static const std::vector<EventBinding<StakeEvent>> all = {
        event_of<StakeEvent>("Staked(address indexed owner, address indexed from, uint256 amount)",
                             &Staked::owner, &Staked::from, &Staked::amount),
        event_of<StakeEvent>("ThawStarted(address indexed owner, uint256 amount, uint256 shares, "
                             "uint64 availableAt)",
                             &ThawStarted::owner, &ThawStarted::amount, &ThawStarted::shares,
                             &ThawStarted::available_at_s),
        event_of<StakeEvent>("StakeWithdrawn(address indexed owner, uint256 amount)",
                             &StakeWithdrawn::owner, &StakeWithdrawn::amount),
        event_of<StakeEvent>("DefenderChanged(address indexed owner, address indexed defender)",
                             &DefenderChanged::owner, &DefenderChanged::defender),
        event_of<StakeEvent>(
            "RecipientChanged(address indexed owner, address indexed recipient, uint64 since)",
            &RecipientChanged::owner, &RecipientChanged::recipient, &RecipientChanged::at_s),
        event_of<StakeEvent>("LocksChanged(address indexed owner, uint256 locks)",
                             &LocksChanged::owner, &LocksChanged::locks),
        event_of<StakeEvent>("ProofRecorded(address indexed owner, uint256 indexed number, address "
                             "indexed prover, uint256 moves)",
                             &ProofRecorded::owner, &ProofRecorded::number, &ProofRecorded::prover,
                             &ProofRecorded::moves),
        event_of<StakeEvent>("Slashed(address indexed owner, address indexed finder, uint256 "
                             "burned, uint256 reward, uint256 compensation)",
                             &Slashed::owner, &Slashed::finder, &Slashed::burned, &Slashed::reward,
                             &Slashed::compensation),
        event_of<StakeEvent>(
            "Compensated(uint256 indexed number, address indexed prover, uint256 amount)",
            &Compensated::number, &Compensated::prover, &Compensated::amount),
    };
    return all;
}

}  // namespace

ContractCall Stake::stake(const Address& owner, const Amount& amount) const {
    return make_call(address_, "stake(address,uint256)", {owner, amount},
                     "stake " + amount.to_string() + " for " + owner.hex());
}

ContractCall Stake::stake_with_permit(const Address& owner, const Amount& amount,
                                      std::uint64_t deadline_s,
                                      const crypto::Signature& permit) const {
    return make_call(address_, "stakeWithPermit(address,uint256,uint256,uint8,bytes32,bytes32)",
                     permit_arguments(owner, amount, deadline_s, permit),
                     "stake " + amount.to_string() + " for " + owner.hex());
}

ContractCall Stake::thaw(const Amount& amount) const {
    return make_call(address_, "thaw(uint256)", {amount}, "thaw " + amount.to_string());
}

ContractCall Stake::withdraw() const {
    return make_call(address_, "withdraw()", {}, "withdraw thawed stake");
}

ContractCall Stake::thaw(const Address& owner, const Amount& amount) const {
    return make_call(address_, "thaw(address,uint256)", {owner, amount},
                     "thaw " + amount.to_string() + " of " + owner.hex());
}

ContractCall Stake::withdraw(const Address& owner) const {
    return make_call(address_, "withdraw(address)", {owner},
                     "withdraw thawed stake of " + owner.hex());
}

ContractCall Stake::set_defender(const Address& owner, const Address& defender) const {
    return make_call(address_, "setDefender(address,address)", {owner, defender},
                     "let " + defender.hex() + " defend units of " + owner.hex());
}

ContractCall Stake::set_recipient(const Address& owner, const Address& recipient) const {
    return make_call(address_, "setRecipient(address,address)", {owner, recipient},
                     "send withdrawn stake of " + owner.hex() + " to " + recipient.hex());
}

Result<Stake::Keys> Stake::keys_of(chain::ChainClient& client, const Address& owner,
                                   const chain::BlockId& at) const {
    Keys out;
    GYM_TRY(const auto defender,
            call_view(client, address_, at, "defenderOf(address)", {owner}, "_(address)"));
    GYM_TRY(const auto recipient,
            call_view(client, address_, at, "recipientOf(address)", {owner}, "_(address)"));
    GYM_TRY(const auto next, call_view(client, address_, at, "nextRecipientOf(address)", {owner},
                                       "_(address,uint256)"));
    GYM_CHECK(read_all(defender, out.defender));
    GYM_CHECK(read_all(recipient, out.recipient));
    GYM_CHECK(read_all(next, out.next_recipient, out.next_recipient_at_s));
    return out;
}

ContractCall Stake::compensate(std::uint64_t number) const {
    return make_call(address_, "compensate(uint256)", {number},
                     "compensate the prover of game number " + std::to_string(number));
}

Result<Stake::Holding> Stake::stake_of(chain::ChainClient& client, const Address& owner,
                                       const chain::BlockId& at) const {
    GYM_TRY(const auto holdings, stakes_of(client, {&owner, 1}, at));
    return holdings.front();
}

Result<std::vector<Stake::Holding>> Stake::stakes_of(chain::ChainClient& client,
                                                     std::span<const Address> owners,
                                                     const chain::BlockId& at) const {
    std::vector<std::vector<chain::AbiValue>> arguments;
    arguments.reserve(owners.size());
    for (const Address& owner : owners)
        arguments.push_back({owner});
    GYM_TRY(const auto all, call_views(client, address_, at, "stakeOf(address)", arguments,
                                       "_(uint256,uint256,uint256)"));
    std::vector<Holding> out;
    out.reserve(all.size());
    for (const auto& values : all) {
        Holding& one = out.emplace_back();
        GYM_CHECK(read_all(values, one.active, one.thawing, one.locks));
    }
    return out;
}

Result<std::uint64_t> Stake::thaw_count(chain::ChainClient& client, const Address& owner,
                                        const chain::BlockId& at) const {
    GYM_TRY(const Amount count, view_amount(client, address_, at, "thawCount(address)", {owner}));
    return count.to_u64();
}

Result<Amount> Stake::compensation_of(chain::ChainClient& client, std::uint64_t number,
                                      const chain::BlockId& at) const {
    GYM_TRY(const auto values, call_view(client, address_, at, "compensationOf(uint256)", {number},
                                         "_(address,uint256)"));
    return values[1].amount();
}

Result<std::uint64_t> Stake::thaw_period_s(chain::ChainClient& client) const {
    GYM_TRY(const Amount period,
            view_amount(client, address_, chain::BlockTag::kLatest, "thawPeriod()", {}));
    return period.to_u64();
}

Result<Address> Stake::token(chain::ChainClient& client) const {
    return view_address(client, address_, "token()");
}

Result<Address> Stake::game(chain::ChainClient& client) const {
    return view_address(client, address_, "game()");
}

std::vector<Digest> Stake::topics() {
    return topics_of(events());
}

Result<std::optional<StakeEvent>> Stake::parse_event(const chain::Log& log) const {
    return find_event(events(), address_, log);
}

}  // namespace gym::contracts
