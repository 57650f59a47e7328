#include "chain_sender.hpp"

#include <filesystem>

namespace gym::app {
namespace {

constexpr std::uint32_t kTimeoutMs = 600'000;  // two epochs of a public chain until it is final

}  // namespace

Result<std::unique_ptr<ChainSender>> ChainSender::open(const KeyOptions& keys,
                                                       const ChainOptions& chain) {
    std::unique_ptr<ChainSender> out(new ChainSender());
    GYM_TRY(out->contracts_, chain.contracts());
    GYM_TRY(const std::string url, chain.rpc_url());
    GYM_TRY(out->client_, chain::make_http_client(url));
    GYM_TRY(const std::uint64_t chain_id, out->client_->chain_id());
    if (chain_id != out->contracts_.chain_id)
        return fail(ErrorCode::kMismatch, url + " is chain " + std::to_string(chain_id) +
                                              ", the deployment is on chain " +
                                              std::to_string(out->contracts_.chain_id));
    GYM_TRY(const worker::NodeConfig config, keys.config());
    GYM_TRY(crypto::PrivateKey key, worker::load_key(config));
    std::error_code ignored;
    std::filesystem::create_directories(config.data_dir, ignored);
    GYM_TRY(out->store_,
            chain_store::SqliteChainStore::open(config.data_dir / "transactions.sqlite"));
    out->intents_ = out->store_->intents(chain_id, key.address());
    out->key_ = std::make_unique<crypto::PrivateKey>(key.clone());
    out->manager_ = std::make_unique<chain::TxManager>(
        *out->client_, *out->intents_, std::move(key), out->clock_,
        chain::TxPolicy{.chain_id = chain_id}, chain::describe_revert);
    return out;
}

Result<chain::Outcome> ChainSender::execute(const chain::ContractCall& call,
                                            const std::string& id) {
    return manager_->execute(call.intent(id), kTimeoutMs);
}

}  // namespace gym::app
