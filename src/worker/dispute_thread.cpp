#include "gym/worker/dispute_thread.hpp"

#include <spdlog/spdlog.h>

#include <optional>
#include <utility>
#include <vector>

#include "claim_units.hpp"
#include "gym/chain/contracts.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/player/player_thread.hpp"

namespace gym::worker {
namespace {

class DisputeThreadImpl final : public DisputeThread {
  public:
    struct Parts {
        std::unique_ptr<chain::ChainClient> client;
        std::unique_ptr<chain_store::SqliteChainStore> store;
        std::unique_ptr<player::ClaimStore> claims;
        rpc::BlobCache cache;
        Address contract;
    };

    DisputeThreadImpl(const NodeConfig& config, const rpc::NetworkInfo& network,
                      const crypto::PrivateKey& key, Parts parts)
        : parts_(std::move(parts)),
          intents_(parts_.store->intents(network.chain_id, key.address())),
          transactions_(*parts_.client, *intents_, key.clone(), clock_, policy(network),
                        chain::describe_revert),
          domain_(network.domain()),
          units_(make_claim_units(std::move(parts_.cache), *parts_.claims, domain_,
                                  rerun_options(config))) {}

    void run_as(player::Role role, OnEvent on_event) {
        player::PlayerSetup setup{*parts_.client,
                                  transactions_,
                                  chain::DisputeGame(parts_.contract),
                                  domain_,
                                  *parts_.claims,
                                  *units_,
                                  std::move(on_event)};
        std::vector<std::unique_ptr<player::Player>> players;
        players.push_back(role == player::Role::kDefend
                              ? player::make_defender(std::move(setup))
                              : player::make_challenger(std::move(setup)));
        thread_.emplace(std::move(players), stop_);
    }

    player::ClaimStore& claims() override { return *parts_.claims; }

  private:
    static chain::TxPolicy policy(const rpc::NetworkInfo& network) {
        chain::TxPolicy policy;
        policy.chain_id = network.chain_id;
        return policy;
    }

    game::RerunWorkOptions rerun_options(const NodeConfig& config) {
        game::RerunWorkOptions options;
        options.engine = config.engine();
        options.spill.folder = config.data_dir;
        options.cancel = stop_.get_token();
        return options;
    }

    std::stop_source stop_;
    SystemClock clock_;
    Parts parts_;
    std::unique_ptr<chain::IntentStore> intents_;
    chain::TxManager transactions_;
    crypto::Eip712Domain domain_;
    std::unique_ptr<player::UnitSource> units_;
    std::optional<player::PlayerThread> thread_;  ///< the first to end
};

Result<Address> game_address(const NodeConfig& config) {
    const auto address = Address::parse(config.dispute_game);
    if (!address.ok())
        return fail(ErrorCode::kInvalidArgument, "dispute_game '" + config.dispute_game +
                                                     "' is no address: " + address.error().message);
    if (config.chain_rpc.empty())
        return fail(ErrorCode::kInvalidArgument,
                    "dispute_game needs chain_rpc: games are played on the chain");
    return *address;
}

}  // namespace

Result<std::unique_ptr<DisputeThread>> DisputeThread::start(const NodeConfig& config,
                                                            const rpc::NetworkInfo& network,
                                                            rpc::Coordinator& coordinator,
                                                            const crypto::PrivateKey& key,
                                                            player::Role role, OnEvent on_event) {
    if (config.dispute_game.empty()) {
        spdlog::warn("no dispute_game: this node plays no disputes on chain");
        return std::unique_ptr<DisputeThread>();
    }
    GYM_TRY(const Address contract, game_address(config));
    GYM_TRY(auto client, chain::make_http_client(config.chain_rpc));
    GYM_TRY(auto store,
            chain_store::SqliteChainStore::open(config.data_dir / "transactions.sqlite"));
    GYM_TRY(auto claims, player::ClaimStore::open(config.data_dir / "disputes"));
    GYM_TRY(rpc::BlobCache cache, rpc::BlobCache::open(config.data_dir / "blobs", coordinator));
    auto out = std::make_unique<DisputeThreadImpl>(
        config, network, key,
        DisputeThreadImpl::Parts{std::move(client), std::move(store), std::move(claims),
                                 std::move(cache), contract});
    spdlog::info("disputes are played in contract {}", contract.hex());
    out->run_as(role, std::move(on_event));
    return std::unique_ptr<DisputeThread>(std::move(out));
}

}  // namespace gym::worker
