#include "cli/chain_sender.hpp"

#include <cstdio>
#include <filesystem>

#include "cli/network_check.hpp"
#include "cli/rows.hpp"
#include "gym/contracts/account.hpp"
#include "gym/contracts/gym_token.hpp"

namespace gym::app {
namespace {

/// On standard error, also with --json: it belongs to no result, and must be seen before the wait.
void tell_sent(const Digest& hash) {
    print_notice(
        "sent",
        "transaction {}; waiting until it is final (an interruption does not stop the transaction)",
        hash.hex());
}

Result<ChainSender> unchecked_sender(const KeyOptions& keys, const ChainOptions& chain) {
    ChainSender out;
    GYM_TRY(out.contracts, chain.contracts());
    GYM_TRY(const std::string url, chain.rpc_url());
    GYM_TRY(LockedAccount locked, open_account(keys, url));
    out.lock = std::move(locked.lock);
    out.account = std::move(locked.account);
    if (out.account->chain_id() != out.contracts.chain_id)
        return fail(ErrorCode::kMismatch,
                    url + " is chain " + std::to_string(out.account->chain_id()) +
                        ", the deployment is on chain " + std::to_string(out.contracts.chain_id));
    return out;
}

}  // namespace

Result<LockedAccount> open_account(const KeyOptions& keys, const std::string& url) {
    GYM_TRY(const node::NodeConfig config, keys.config());
    GYM_TRY(crypto::PrivateKey key, node::load_key(config));
    std::error_code ignored;
    std::filesystem::create_directories(config.data_dir, ignored);
    LockedAccount out;
    GYM_TRY(out.lock, lock_sender(config.data_dir, key.address()));
    GYM_TRY(out.account, contracts::Account::open({.url = url,
                                                   .store = config.data_dir / "transactions.sqlite",
                                                   .on_sent = tell_sent},
                                                  std::move(key)));
    return out;
}

Result<ChainSender> open_sender(const KeyOptions& keys, const ChainOptions& chain) {
    GYM_TRY(ChainSender out, unchecked_sender(keys, chain));
    GYM_CHECK(check_contracts(out.account->client(), out.contracts));
    return out;
}

Result<ChainSender> open_sender(const KeyOptions& keys, const ChainOptions& chain,
                                const ApiOptions& api) {
    GYM_TRY(ChainSender out, unchecked_sender(keys, chain));
    GYM_CHECK(check_network(api.named_url(), out.contracts));
    GYM_CHECK(check_contracts(out.account->client(), out.contracts));
    return out;
}

Status check_holds(const ChainSender& sender, const Amount& amount) {
    contracts::Account& account = *sender.account;
    const contracts::GymToken token(account.chain_id(), sender.contracts.token);
    GYM_TRY(const Amount held, token.balance_of(account.client(), account.address()));
    if (held >= amount) return {};
    GYM_TRY(const Amount missing, amount.minus(held));
    return fail(ErrorCode::kInsufficientFunds,
                "the wallet holds " + held.to_tokens() + " GYM, less than " + amount.to_tokens() +
                    " GYM: send at least " + missing.to_tokens() +
                    " GYM, and some ether for gas, to " + crypto::to_checksum(account.address()) +
                    " on chain " + std::to_string(account.chain_id()) + ", then run this again");
}

}  // namespace gym::app
