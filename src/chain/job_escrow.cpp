#include <algorithm>

#include "bindings.hpp"
#include "gym/chain/contracts.hpp"

namespace gym::chain {
namespace {

const Declaration kDeposited = Declaration::of(
    "Deposited(address indexed owner, address indexed from, uint256 amount, uint256 indexed "
    "depositId)");
const Declaration kReleased =
    Declaration::of("Released(uint64 indexed epoch, address indexed owner, uint256 amount)");
const Declaration kRequested = Declaration::of(
    "WithdrawalRequested(address indexed owner, uint256 amount, uint64 availableAt)");
const Declaration kTrimmed =
    Declaration::of("WithdrawalTrimmed(address indexed owner, uint256 amount)");
const Declaration kWithdrawn = Declaration::of("Withdrawn(address indexed owner, uint256 amount)");

Bytes word_of(const crypto::Signature& signature, std::ptrdiff_t offset) {
    return Bytes(signature.data.begin() + offset, signature.data.begin() + offset + 32);
}

}  // namespace

ContractCall JobEscrow::deposit(const Address& owner, const Amount& amount) const {
    return make_call(address_, "deposit(address,uint256)", {owner, amount},
                     "deposit " + amount.to_string() + " for " + owner.hex());
}

ContractCall JobEscrow::deposit_with_permit(const Address& owner, const Amount& amount,
                                            std::uint64_t deadline_s,
                                            const crypto::Signature& permit) const {
    return make_call(address_, "depositWithPermit(address,uint256,uint256,uint8,bytes32,bytes32)",
                     {owner, amount, deadline_s, std::uint64_t{permit.data[64]}, word_of(permit, 0),
                      word_of(permit, 32)},
                     "deposit " + amount.to_string() + " for " + owner.hex());
}

ContractCall JobEscrow::release(std::uint64_t epoch,
                                const std::vector<std::pair<Address, Amount>>& spent) const {
    AbiValue::List owners;
    AbiValue::List amounts;
    for (const auto& [owner, amount] : spent) {
        owners.emplace_back(owner);
        amounts.emplace_back(amount);
    }
    return make_call(address_, "release(uint64,address[],uint256[])",
                     {epoch, std::move(owners), std::move(amounts)},
                     "release what " + std::to_string(spent.size()) + " owner(s) spent in epoch " +
                         std::to_string(epoch));
}

ContractCall JobEscrow::request_withdrawal(const Amount& amount) const {
    return make_call(address_, "requestWithdrawal(uint256)", {amount},
                     "request withdrawal of " + amount.to_string());
}

ContractCall JobEscrow::trim_withdrawal(const Address& owner, const Amount& amount) const {
    return make_call(address_, "trimWithdrawal(address,uint256)", {owner, amount},
                     "trim the withdrawal of " + owner.hex() + " to " + amount.to_string());
}

ContractCall JobEscrow::withdraw() const {
    return make_call(address_, "withdraw()", {}, "withdraw");
}

ContractCall JobEscrow::set_release_cap(const Amount& cap) const {
    return make_call(address_, "setReleaseCap(uint256)", {cap},
                     "set the release cap to " + cap.to_string());
}

ContractCall JobEscrow::set_owner_release_cap(const Amount& cap) const {
    return make_call(address_, "setOwnerReleaseCap(uint256)", {cap},
                     "set the release cap of one owner to " + cap.to_string());
}

Result<Amount> JobEscrow::balance_of(ChainClient& client, const Address& owner,
                                     const BlockId& at) const {
    return view_amount(client, address_, at, "balanceOf(address)", {owner});
}

Result<Amount> JobEscrow::total_balance(ChainClient& client, const BlockId& at) const {
    return view_amount(client, address_, at, "totalBalance()", {});
}

Result<Amount> JobEscrow::released_of(ChainClient& client, std::uint64_t epoch,
                                      const Address& owner, const BlockId& at) const {
    return view_amount(client, address_, at, "releasedOf(uint64,address)", {epoch, owner});
}

Result<Amount> JobEscrow::release_cap(ChainClient& client) const {
    return view_amount(client, address_, BlockTag::kLatest, "releaseCap()", {});
}

Result<Amount> JobEscrow::owner_release_cap(ChainClient& client) const {
    return view_amount(client, address_, BlockTag::kLatest, "ownerReleaseCap()", {});
}

Result<std::pair<std::uint64_t, Amount>> JobEscrow::release_state(ChainClient& client) const {
    GYM_TRY(const auto values, call_view(client, address_, BlockTag::kLatest, "releaseState()", {},
                                         "_(uint64,uint256)"));
    GYM_TRY(const std::uint64_t epoch, values[0].u64());
    GYM_TRY(const Amount released, values[1].amount());
    return std::make_pair(epoch, released);
}

Result<std::pair<Amount, std::uint64_t>> JobEscrow::withdrawal_of(ChainClient& client,
                                                                  const Address& owner) const {
    GYM_TRY(const auto values, call_view(client, address_, BlockTag::kLatest,
                                         "withdrawalOf(address)", {owner}, "_(uint256,uint64)"));
    GYM_TRY(const Amount amount, values[0].amount());
    GYM_TRY(const std::uint64_t available_at_s, values[1].u64());
    return std::make_pair(amount, available_at_s);
}

std::vector<Digest> JobEscrow::topics() {
    return {kDeposited.signature.hash(), kReleased.signature.hash(), kRequested.signature.hash(),
            kTrimmed.signature.hash(), kWithdrawn.signature.hash()};
}

Result<std::optional<EscrowEvent>> JobEscrow::parse_event(const Log& log) const {
    using Out = std::optional<EscrowEvent>;
    if (is_event(kDeposited, address_, log)) {
        GYM_TRY(const auto values, decode_event(kDeposited, log));
        Deposited event;
        GYM_TRY(event.owner, values[0].address());
        GYM_TRY(event.from, values[1].address());
        GYM_TRY(event.amount, values[2].amount());
        GYM_TRY(event.deposit_id, values[3].amount());
        return Out(event);
    }
    if (is_event(kReleased, address_, log)) {
        GYM_TRY(const auto values, decode_event(kReleased, log));
        Released event;
        GYM_TRY(event.epoch, values[0].u64());
        GYM_TRY(event.owner, values[1].address());
        GYM_TRY(event.amount, values[2].amount());
        return Out(event);
    }
    if (is_event(kRequested, address_, log)) {
        GYM_TRY(const auto values, decode_event(kRequested, log));
        WithdrawalRequested event;
        GYM_TRY(event.owner, values[0].address());
        GYM_TRY(event.amount, values[1].amount());
        GYM_TRY(event.available_at_s, values[2].u64());
        return Out(event);
    }
    if (is_event(kTrimmed, address_, log)) {
        GYM_TRY(const auto values, decode_event(kTrimmed, log));
        WithdrawalTrimmed event;
        GYM_TRY(event.owner, values[0].address());
        GYM_TRY(event.amount, values[1].amount());
        return Out(event);
    }
    if (is_event(kWithdrawn, address_, log)) {
        GYM_TRY(const auto values, decode_event(kWithdrawn, log));
        Withdrawn event;
        GYM_TRY(event.owner, values[0].address());
        GYM_TRY(event.amount, values[1].amount());
        return Out(event);
    }
    return Out();
}

}  // namespace gym::chain
