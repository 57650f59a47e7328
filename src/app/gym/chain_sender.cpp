#include "chain_sender.hpp"

#include <filesystem>

namespace gym::app {

Result<std::unique_ptr<chain_store::Account>> open_account(const KeyOptions& keys,
                                                           const std::string& url) {
    GYM_TRY(const worker::NodeConfig config, keys.config());
    GYM_TRY(crypto::PrivateKey key, worker::load_key(config));
    std::error_code ignored;
    std::filesystem::create_directories(config.data_dir, ignored);
    return chain_store::Account::open(
        {.url = url, .store = config.data_dir / "transactions.sqlite"}, std::move(key));
}

Result<ChainSender> open_sender(const KeyOptions& keys, const ChainOptions& chain) {
    ChainSender out;
    GYM_TRY(out.contracts, chain.contracts());
    GYM_TRY(const std::string url, chain.rpc_url());
    GYM_TRY(out.account, open_account(keys, url));
    if (out.account->chain_id() != out.contracts.chain_id)
        return fail(ErrorCode::kMismatch,
                    url + " is chain " + std::to_string(out.account->chain_id()) +
                        ", the deployment is on chain " + std::to_string(out.contracts.chain_id));
    return out;
}

}  // namespace gym::app
