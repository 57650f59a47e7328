#include "gym/worker/dispute_thread.hpp"

#include <spdlog/spdlog.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "claim_units.hpp"
#include "dispute_check.hpp"
#include "gym/chain/contracts.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/player/player_thread.hpp"

namespace gym::worker {
namespace {

/// Plays once the contract is known to be the network's game.
class CheckedPlayer final : public player::Player {
  public:
    CheckedPlayer(std::function<Status()> check, std::unique_ptr<player::Player> player)
        : check_(std::move(check)), player_(std::move(player)) {}

    Status tick() override {
        if (!checked_) GYM_CHECK(check_());
        checked_ = true;
        return player_->tick();
    }

  private:
    std::function<Status()> check_;
    std::unique_ptr<player::Player> player_;
    bool checked_ = false;
};

class DisputeThreadImpl final : public DisputeThread {
  public:
    struct Parts {
        std::unique_ptr<chain::ChainClient> client;
        std::unique_ptr<chain_store::SqliteChainStore> store;
        std::unique_ptr<player::ClaimStore> claims;
        rpc::BlobCache cache;
        Address contract;
        bool checked = false;  ///< that the contract is the network's game
    };

    DisputeThreadImpl(const NodeConfig& config, const rpc::NetworkInfo& network,
                      const crypto::PrivateKey& key, Parts parts)
        : parts_(std::move(parts)),
          network_(network),
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
        auto player = role == player::Role::kDefend ? player::make_defender(std::move(setup))
                                                    : player::make_challenger(std::move(setup));
        auto check = [this] { return check_game(*parts_.client, parts_.contract, network_); };
        if (!parts_.checked)
            player = std::make_unique<CheckedPlayer>(std::move(check), std::move(player));
        std::vector<std::unique_ptr<player::Player>> players;
        players.push_back(std::move(player));
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
    rpc::NetworkInfo network_;
    std::unique_ptr<chain::IntentStore> intents_;
    chain::TxManager transactions_;
    crypto::Eip712Domain domain_;
    std::unique_ptr<player::UnitSource> units_;
    std::optional<player::PlayerThread> thread_;  ///< the first to end
};

/// @return whether the game could be checked: a chain that does not answer now is asked again.
Result<bool> check_now(chain::ChainClient& client, const Address& game,
                       const rpc::NetworkInfo& network) {
    const Status checked = check_game(client, game, network);
    if (checked.ok()) return true;
    const ErrorCode code = checked.error().code;
    if (code != ErrorCode::kUnavailable && code != ErrorCode::kTimeout) return checked.error();
    spdlog::warn("disputes: {}; no game can be played until the chain answers",
                 checked.error().message);
    return false;
}

void warn_about_money(chain::ChainClient& client, const Address& game,
                      const rpc::NetworkInfo& network, player::Role role, const Address& self) {
    const auto money = game_money(client, game, network, role, self);
    if (!money.ok()) {
        spdlog::warn("disputes: what the moves may cost is not known: {}", money.error().message);
        return;
    }
    const std::string missing = money_missing(*money, self);
    if (missing.empty()) return;
    spdlog::error(
        "DISPUTES: {}; without it this node {}", missing,
        role == player::Role::kDefend ? "loses its stake by the clock" : "challenges nobody");
}

}  // namespace

Result<std::unique_ptr<DisputeThread>> DisputeThread::start(const NodeConfig& config,
                                                            const rpc::NetworkInfo& network,
                                                            rpc::Coordinator& coordinator,
                                                            const crypto::PrivateKey& key,
                                                            player::Role role, OnEvent on_event) {
    if (config.dispute_game.empty()) {
        if (role == player::Role::kDefend)
            GYM_CHECK(check_plays_nothing(config, network, key.address()));
        spdlog::warn("no dispute_game: this node plays no disputes on chain");
        return std::unique_ptr<DisputeThread>();
    }
    GYM_TRY(const Address contract, configured_game(config));
    GYM_TRY(auto client, chain::make_http_client(config.chain_rpc));
    GYM_TRY(const bool checked, check_now(*client, contract, network));
    if (checked) warn_about_money(*client, contract, network, role, key.address());
    GYM_TRY(auto store,
            chain_store::SqliteChainStore::open(config.data_dir / "transactions.sqlite"));
    GYM_TRY(auto claims, player::ClaimStore::open(config.data_dir / "disputes"));
    GYM_TRY(rpc::BlobCache cache, rpc::BlobCache::open(config.data_dir / "blobs", coordinator));
    auto out = std::make_unique<DisputeThreadImpl>(
        config, network, key,
        DisputeThreadImpl::Parts{std::move(client), std::move(store), std::move(claims),
                                 std::move(cache), contract, checked});
    spdlog::info("disputes are played in contract {}", contract.hex());
    out->run_as(role, std::move(on_event));
    return std::unique_ptr<DisputeThread>(std::move(out));
}

}  // namespace gym::worker
