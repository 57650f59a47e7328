#include "gym/contracts/account.hpp"

#include <algorithm>
#include <chrono>

#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/job_escrow.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/crypto/secret.hpp"

namespace gym::contracts {
namespace {

constexpr std::uint64_t kPermitLifeS = 3'600;

/// That one of the receipt's logs is the event in which `contract` says that `amount` arrived.
template <class Event, class Contract>
Status check_arrived(const chain::Receipt& receipt, const Contract& contract, const Address& owner,
                     const Address& from, const Amount& amount) {
    for (const chain::Log& log : receipt.logs) {
        GYM_TRY(const auto event, contract.parse_event(log));
        const auto* const arrived = event ? std::get_if<Event>(&*event) : nullptr;
        if (arrived != nullptr && arrived->owner == owner && arrived->from == from &&
            arrived->amount == amount)
            return {};
    }
    return fail(ErrorCode::kMismatch,
                "transaction " + receipt.transaction_hash.hex() + " is on chain, but " +
                    contract.address().hex() + " does not say that " + amount.to_tokens() +
                    " GYM arrived for " + owner.hex() +
                    ": it is not the network's contract, or it did something else. Look at the "
                    "wallet's balance before you try again");
}

}  // namespace

Status check_contract(chain::ChainClient& client, const Address& address, const char* name) {
    GYM_TRY(const Bytes code, client.code(address, chain::BlockTag::kLatest));
    if (!code.empty()) return {};
    return fail(ErrorCode::kNotFound, "there is no contract at " + address.hex() + ", where the " +
                                          name +
                                          " should be: is this the deployment.json of this "
                                          "network, and this its chain?");
}

Result<std::unique_ptr<Account>> Account::open(const AccountOptions& options,
                                               crypto::PrivateKey key) {
    std::unique_ptr<Account> out(new Account(std::move(key), options));
    GYM_TRY(out->client_, chain::make_http_client(options.url));
    GYM_TRY(out->chain_id_, out->client_->chain_id());
    GYM_TRY(out->store_, chain_store::SqliteChainStore::open(options.store));
    out->intents_ = out->store_->intents(out->chain_id_, out->address());
    out->manager_ = std::make_unique<chain::TxManager>(
        *out->client_, *out->intents_, out->key_.clone(), out->clock_,
        chain::TxPolicy{.chain_id = out->chain_id_,
                        .supersede_after_ms = options.supersede_after_ms},
        describe_revert);
    return out;
}

/// Without it a transaction waits until the account is funded, or until the timeout.
Status Account::check_gas_money(const ContractCall& call) {
    GYM_TRY(const Amount held, client_->balance(address(), chain::BlockTag::kLatest));
    GYM_TRY(const auto head, client_->block(chain::BlockTag::kLatest));
    const auto estimate = client_->estimate_gas(
        {.from = address(), .to = call.to, .value_wei = call.value_wei, .data = call.data});
    // A contract's refusal is told, with its reason, when the transaction is sent.
    if (!head || !estimate.ok() || estimate->reverted) return {};
    GYM_TRY(const Amount least, head->base_fee_wei.mul_div(Amount(estimate->gas), Amount(1)));
    if (held >= least && !held.is_zero()) return {};
    return fail(ErrorCode::kInsufficientFunds,
                crypto::to_checksum(address()) + " cannot pay for gas: it holds " +
                    held.to_tokens() + " ETH, the transaction takes at least " + least.to_tokens() +
                    "; send it some of the chain's own coin first");
}

Result<chain::Outcome> Account::execute(const ContractCall& call, std::string id) {
    GYM_CHECK(check_gas_money(call));
    // No time or block tells two calls apart: both may be made within one.
    if (id.empty()) id = call.label + "/" + to_hex(crypto::random_digest().view());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms_);
    for (;;) {
        GYM_TRY(const chain::Intent intent, manager_->submit_idempotent(call.intent(id)));
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        const auto wait_ms = static_cast<std::uint32_t>(std::max<std::int64_t>(left.count(), 0));
        GYM_TRY(const chain::Intent settled, manager_->wait(intent.request.id, wait_ms, on_sent_));
        if (settled.state == chain::IntentState::kSuperseded) continue;
        return manager_->execute(settled.request, wait_ms);  // its outcome, or its error
    }
}

Result<chain::Receipt> Account::receipt_of(const chain::Outcome& outcome) {
    if (!outcome.transaction_hash)
        return fail(ErrorCode::kConflict, "the transaction was not sent");
    GYM_TRY(auto receipt, client_->receipt(*outcome.transaction_hash));
    if (receipt) return std::move(*receipt);
    return fail(ErrorCode::kUnavailable, "the node has no receipt of transaction " +
                                             outcome.transaction_hash->hex() +
                                             ", which it said is final");
}

Result<Account::Permit> Account::permit(const Deployment& contracts, const Address& spender,
                                        const Amount& amount) {
    // Whoever has the permit can take the tokens: it is shown only to our contract.
    GYM_CHECK(check_contract(*client_, contracts.token, "token"));
    GYM_CHECK(check_contract(*client_, spender, "contract that takes the tokens"));
    const GymToken token(chain_id_, contracts.token);
    GYM_TRY(const Amount nonce, token.permit_nonce(*client_, address()));
    GYM_TRY(const auto head, client_->block(chain::BlockTag::kLatest));
    if (!head) return fail(ErrorCode::kUnavailable, "the chain has no latest block");
    Permit out;
    out.deadline_s = head->timestamp_s + kPermitLifeS;
    out.signature = token.sign_permit(key_, spender, amount, nonce, out.deadline_s);
    out.name = nonce.to_string() + "/" + std::to_string(out.deadline_s);
    return out;
}

Result<chain::Outcome> Account::deposit(const Deployment& contracts, const Address& owner,
                                        const Amount& amount, std::string id) {
    GYM_TRY(const Permit allowed, permit(contracts, contracts.escrow, amount));
    if (id.empty()) id = "deposit/" + allowed.name;
    const JobEscrow escrow(contracts.escrow);
    GYM_TRY(const auto outcome, execute(escrow.deposit_with_permit(
                                            owner, amount, allowed.deadline_s, allowed.signature),
                                        id));
    GYM_TRY(const auto receipt, receipt_of(outcome));
    GYM_CHECK(check_arrived<Deposited>(receipt, escrow, owner, address(), amount));
    return outcome;
}

Result<chain::Outcome> Account::stake(const Deployment& contracts, const Address& owner,
                                      const Amount& amount, std::string id) {
    GYM_TRY(const Permit allowed, permit(contracts, contracts.stake, amount));
    if (id.empty()) id = "stake/" + allowed.name;
    const Stake stake(contracts.stake);
    GYM_TRY(
        const auto outcome,
        execute(stake.stake_with_permit(owner, amount, allowed.deadline_s, allowed.signature), id));
    GYM_TRY(const auto receipt, receipt_of(outcome));
    GYM_CHECK(check_arrived<Staked>(receipt, stake, owner, address(), amount));
    return outcome;
}

}  // namespace gym::contracts
