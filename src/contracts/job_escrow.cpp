#include "gym/contracts/job_escrow.hpp"

#include "bindings.hpp"
#include "gym/crypto/keccak.hpp"

namespace gym::contracts {
namespace {

const std::vector<EventBinding<EscrowEvent>>& events() {
    static const std::vector<EventBinding<EscrowEvent>> all = {
        event_of<EscrowEvent>("Deposited(address indexed owner, address indexed from, uint256 "
                              "amount, uint256 indexed depositId)",
                              &Deposited::owner, &Deposited::from, &Deposited::amount,
                              &Deposited::deposit_id),
        event_of<EscrowEvent>(
            "Released(uint64 indexed epoch, address indexed owner, uint256 amount)",
            &Released::epoch, &Released::owner, &Released::amount),
        event_of<EscrowEvent>(
            "WithdrawalRequested(address indexed owner, uint256 amount, uint64 availableAt)",
            &WithdrawalRequested::owner, &WithdrawalRequested::amount,
            &WithdrawalRequested::available_at_s),
        event_of<EscrowEvent>("Locked(address indexed owner, bytes32 indexed nonce, bytes32 "
                              "indexed job, uint256 amount)",
                              &Locked::owner, &Locked::nonce, &Locked::job, &Locked::amount),
        event_of<EscrowEvent>("LockedOwn(address indexed owner, uint256 amount)", &LockedOwn::owner,
                              &LockedOwn::amount),
        event_of<EscrowEvent>("Unlocked(address indexed owner, uint256 amount, uint256 total)",
                              &Unlocked::owner, &Unlocked::amount, &Unlocked::total),
        event_of<EscrowEvent>("Withdrawn(address indexed owner, uint256 amount)", &Withdrawn::owner,
                              &Withdrawn::amount),
        event_of<EscrowEvent>("ExitRequested(address indexed owner, uint64 availableAt)",
                              &ExitRequested::owner, &ExitRequested::available_at_s),
    };
    return all;
}

/// As EIP-712 encodes a list of bytes32.
Digest hash_of(const std::vector<Digest>& list) {
    Bytes joined;
    joined.reserve(list.size() * Digest::kSize);
    for (const Digest& member : list)
        joined.insert(joined.end(), member.data.begin(), member.data.end());
    return crypto::keccak256(joined);
}

Bytes bytes_of(const crypto::Signature& signature) {
    return {signature.data.begin(), signature.data.end()};
}

/// Two lists for the ABI.
std::pair<chain::AbiValue::List, chain::AbiValue::List> columns(
    const std::vector<std::pair<Address, Amount>>& rows) {
    std::pair<chain::AbiValue::List, chain::AbiValue::List> out;
    for (const auto& [owner, amount] : rows) {
        out.first.emplace_back(owner);
        out.second.emplace_back(amount);
    }
    return out;
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
                     permit_arguments(owner, amount, deadline_s, permit),
                     "deposit " + amount.to_string() + " for " + owner.hex());
}

ContractCall JobEscrow::release(std::uint64_t epoch,
                                const std::vector<std::pair<Address, Amount>>& spent) const {
    auto [owners, amounts] = columns(spent);
    return make_call(address_, "release(uint64,address[],uint256[])",
                     {epoch, std::move(owners), std::move(amounts)},
                     "release what " + std::to_string(spent.size()) + " owner(s) spent in epoch " +
                         std::to_string(epoch));
}

ContractCall JobEscrow::request_withdrawal(const Amount& amount) const {
    return make_call(address_, "requestWithdrawal(uint256)", {amount},
                     "request withdrawal of " + amount.to_string());
}

ContractCall JobEscrow::lock(const records::JobOrder& order,
                             const crypto::Signature& signature) const {
    chain::AbiValue::List members{order.owner,
                                  order.spec,
                                  hash_of(order.datasets),
                                  order.budget_wei,
                                  order.price_wei_per_pflop,
                                  order.max_data_price_wei,
                                  order.nonce,
                                  order.expiry_s};
    return make_call(address_,
                     "lock((address,bytes32,bytes32,uint256,uint256,uint256,bytes32,uint64),bytes)",
                     {std::move(members), bytes_of(signature)},
                     "lock " + order.budget_wei.to_string() + " of " + order.owner.hex());
}

ContractCall JobEscrow::lock(const records::JobFunding& funding,
                             const crypto::Signature& signature) const {
    chain::AbiValue::List members{funding.owner, funding.job, funding.amount_wei, funding.nonce,
                                  funding.expiry_s};
    return make_call(address_, "lockFunding((address,bytes32,uint256,bytes32,uint64),bytes)",
                     {std::move(members), bytes_of(signature)},
                     "lock " + funding.amount_wei.to_string() + " more of " + funding.owner.hex());
}

ContractCall JobEscrow::lock_own(const Amount& amount) const {
    return make_call(address_, "lockOwn(uint256)", {amount}, "lock " + amount.to_string());
}

ContractCall JobEscrow::unlock(const std::vector<std::pair<Address, Amount>>& totals) const {
    auto [owners, amounts] = columns(totals);
    return make_call(address_, "unlock(address[],uint256[])",
                     {std::move(owners), std::move(amounts)},
                     "unlock what " + std::to_string(totals.size()) + " owner(s) need no more");
}

ContractCall JobEscrow::withdraw() const {
    return make_call(address_, "withdraw()", {}, "withdraw");
}

ContractCall JobEscrow::request_exit() const {
    return make_call(address_, "requestExit()", {}, "request the exit");
}

ContractCall JobEscrow::cancel_exit() const {
    return make_call(address_, "cancelExit()", {}, "take the exit back");
}

ContractCall JobEscrow::exit() const {
    return make_call(address_, "exit()", {}, "leave");
}

ContractCall JobEscrow::set_release_cap(const Amount& cap) const {
    return make_call(address_, "setReleaseCap(uint256)", {cap},
                     "set the release cap to " + cap.to_string());
}

ContractCall JobEscrow::set_owner_release_cap(const Amount& cap) const {
    return make_call(address_, "setOwnerReleaseCap(uint256)", {cap},
                     "set the release cap of one owner to " + cap.to_string());
}

Result<Amount> JobEscrow::balance_of(chain::ChainClient& client, const Address& owner,
                                     const chain::BlockId& at) const {
    return view_amount(client, address_, at, "balanceOf(address)", {owner});
}

Result<Amount> JobEscrow::locked_of(chain::ChainClient& client, const Address& owner,
                                    const chain::BlockId& at) const {
    return view_amount(client, address_, at, "lockedOf(address)", {owner});
}

Result<Amount> JobEscrow::total_locked(chain::ChainClient& client, const chain::BlockId& at) const {
    return view_amount(client, address_, at, "totalLocked()", {});
}

Result<Amount> JobEscrow::lock_of(chain::ChainClient& client, const records::JobOrder& order,
                                  const chain::BlockId& at) const {
    return view_amount(client, address_, at, "jobLockOf(address,bytes32)",
                       {order.owner, order.nonce});
}

Result<Amount> JobEscrow::lock_of(chain::ChainClient& client, const records::JobFunding& funding,
                                  const chain::BlockId& at) const {
    return view_amount(client, address_, at, "fundingLockOf(address,bytes32)",
                       {funding.owner, funding.nonce});
}

Result<Amount> JobEscrow::total_balance(chain::ChainClient& client,
                                        const chain::BlockId& at) const {
    return view_amount(client, address_, at, "totalBalance()", {});
}

Result<Amount> JobEscrow::released_of(chain::ChainClient& client, std::uint64_t epoch,
                                      const Address& owner, const chain::BlockId& at) const {
    return view_amount(client, address_, at, "releasedOf(uint64,address)", {epoch, owner});
}

Result<Amount> JobEscrow::release_cap(chain::ChainClient& client) const {
    return view_amount(client, address_, chain::BlockTag::kLatest, "releaseCap()", {});
}

Result<Amount> JobEscrow::owner_release_cap(chain::ChainClient& client) const {
    return view_amount(client, address_, chain::BlockTag::kLatest, "ownerReleaseCap()", {});
}

Result<std::pair<std::uint64_t, Amount>> JobEscrow::release_state(
    chain::ChainClient& client) const {
    GYM_TRY(const auto values, call_view(client, address_, chain::BlockTag::kLatest,
                                         "releaseState()", {}, "_(uint64,uint256)"));
    std::pair<std::uint64_t, Amount> out;
    GYM_CHECK(read_all(values, out.first, out.second));
    return out;
}

Result<std::pair<Amount, std::uint64_t>> JobEscrow::withdrawal_of(chain::ChainClient& client,
                                                                  const Address& owner) const {
    GYM_TRY(const auto values, call_view(client, address_, chain::BlockTag::kLatest,
                                         "withdrawalOf(address)", {owner}, "_(uint256,uint64)"));
    std::pair<Amount, std::uint64_t> out;
    GYM_CHECK(read_all(values, out.first, out.second));
    return out;
}

Result<std::uint64_t> JobEscrow::exit_of(chain::ChainClient& client, const Address& owner) const {
    GYM_TRY(const auto values, call_view(client, address_, chain::BlockTag::kLatest,
                                         "exitOf(address)", {owner}, "_(uint64)"));
    return values[0].u64();
}

std::vector<Digest> JobEscrow::topics() {
    return topics_of(events());
}

Result<std::optional<EscrowEvent>> JobEscrow::parse_event(const chain::Log& log) const {
    return find_event(events(), address_, log);
}

}  // namespace gym::contracts
