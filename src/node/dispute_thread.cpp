#include "gym/node/dispute_thread.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "claim_units.hpp"
#include "dispute_check.hpp"
#include "gym/chain/client.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/common/file.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/crypto/key.hpp"
#include "gym/player/player_thread.hpp"

namespace gym::node {
namespace {

/// Whether games can be played in the contract, asked until the chain has said so.
class GameCheck {
  public:
    GameCheck(chain::ChainClient& client, const Address& game,
              const records::NetworkDescription& network)
        : client_(client), game_(game), network_(network) {}

    /// That the contract is a game, whatever the coordinator says of it: claims are defended
    /// nonetheless. From one thread at a time. @errors of find_stake().
    Status look() {
        if (found_) return {};
        const auto stake = find_stake(client_, game_, network_);
        found_ = stake.ok();
        if (found_)
            set_lasting(check_named(game_, *stake, network_));
        else if (is_lasting(stake.error().code))
            set_lasting(stake.error());
        return found_ ? Status() : Status(stake.error());
    }
    [[nodiscard]] bool is_found() const { return found_; }
    /// The error that lasts until a person mends its cause. Thread-safe.
    [[nodiscard]] Status lasting() const {
        const std::scoped_lock lock(mutex_);
        return lasting_;
    }

  private:
    void set_lasting(Status status) {
        const std::scoped_lock lock(mutex_);
        lasting_ = std::move(status);
    }

    chain::ChainClient& client_;
    const Address game_;
    const records::NetworkDescription network_;
    bool found_ = false;
    mutable std::mutex mutex_;
    Status lasting_;
};

/// Plays once the contract is known to be a game.
class CheckedPlayer final : public player::Player {
  public:
    CheckedPlayer(GameCheck& check, std::unique_ptr<player::Player> player)
        : check_(check), player_(std::move(player)) {}

    Status tick() override {
        GYM_CHECK(check_.look());
        return player_->tick();
    }

  private:
    GameCheck& check_;
    std::unique_ptr<player::Player> player_;
};

/// Knows the claims for which it opened a unit and which are still there.
class PlayedUnits final : public player::UnitSource {
  public:
    explicit PlayedUnits(std::unique_ptr<player::UnitSource> units) : units_(std::move(units)) {}

    Result<game::Strategy*> open(const player::Claim& claim) override {
        {
            const std::scoped_lock lock(mutex_);
            played_.insert(claim.name());
        }
        return units_->open(claim);
    }
    void release(const player::Claim& claim) override {
        units_->release(claim);
        const std::scoped_lock lock(mutex_);
        played_.erase(claim.name());
    }
    /// Thread-safe.
    [[nodiscard]] bool any() const {
        const std::scoped_lock lock(mutex_);
        return !played_.empty();
    }

  private:
    std::unique_ptr<player::UnitSource> units_;
    mutable std::mutex mutex_;
    std::set<std::string> played_;  ///< names of claims
};

class DisputeThreadImpl final : public DisputeThread {
  public:
    struct Parts {
        std::unique_ptr<chain::ChainClient> client;
        std::unique_ptr<chain_store::SqliteChainStore> store;
        std::unique_ptr<player::ClaimStore> claims;
        rpc::BlobCache cache;
        std::unique_ptr<GameCheck> check;  ///< of the client
        Address contract;
        Address report_game;  ///< of a verifier; zero: none
    };

    DisputeThreadImpl(const NodeConfig& config, const records::NetworkDescription& network,
                      const crypto::PrivateKey& key, Parts parts)
        : parts_(std::move(parts)),
          intents_(parts_.store->intents(network.chain_id, key.address())),
          transactions_(*parts_.client, *intents_, key.clone(), clock_, policy(network),
                        contracts::describe_revert),
          domain_(network.domain()),
          units_(make_claim_units(std::move(parts_.cache), *parts_.claims, domain_,
                                  rerun_options(config))) {}

    void run_as(player::Role role, OnEvent on_event) {
        player::PlayerSetup setup{*parts_.client,
                                  transactions_,
                                  contracts::DisputeGame(parts_.contract),
                                  domain_,
                                  *parts_.claims,
                                  units_,
                                  std::move(on_event)};
        std::vector<std::unique_ptr<player::Player>> players;
        const auto add = [&](std::unique_ptr<player::Player> player) {
            players.push_back(std::make_unique<CheckedPlayer>(*parts_.check, std::move(player)));
        };
        if (!parts_.report_game.is_zero())
            add(player::make_defender(player::setup_of_reports(setup, parts_.report_game)));
        if (role == player::Role::kDefend) {
            data_ = player::make_claim_data(*parts_.claims, units_);
            add(player::make_defender(setup));
            add(player::make_data_defender(setup, *data_));
        }
        // Of a worker: for commitments that its coordinator leaves out.
        add(player::make_challenger(std::move(setup)));
        thread_.emplace(std::move(players), stop_);
    }

    player::ClaimStore& claims() override { return *parts_.claims; }
    [[nodiscard]] Status lasting_failure() const override { return parts_.check->lasting(); }
    [[nodiscard]] bool is_playing() const override { return units_.any(); }
    [[nodiscard]] Address report_game() const override { return parts_.report_game; }

  private:
    static chain::TxPolicy policy(const records::NetworkDescription& network) {
        chain::TxPolicy policy;
        policy.chain_id = network.chain_id;
        return policy;
    }

    game::RerunWorkOptions rerun_options(const NodeConfig& config) {
        game::RerunWorkOptions options;
        options.engine = config.games_engine();
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
    PlayedUnits units_;
    std::unique_ptr<player::DataSource> data_;
    std::optional<player::PlayerThread> thread_;  ///< the first to end
};

/// @errors a lasting one of a node that has nothing to defend: with claims on disk it would lose
/// its stake by the clock while it is down, so it starts, and only takes no new work.
Status first_look(GameCheck& check, bool defends) {
    const Status found = check.look();
    Status lasting = check.lasting();
    if (!lasting.ok() && !defends) return lasting;
    if (!lasting.ok())
        spdlog::error(
            "DISPUTES: {}; this node takes no new work, but still defends its signed units: {}",
            lasting.error().message,
            found.ok() ? "its games are played"
                       : "the chain is asked again until games can be played");
    else if (!found.ok())
        spdlog::warn("disputes: {}; no game can be played until the chain answers",
                     found.error().message);
    return {};
}

void warn_about_money(chain::ChainClient& client, const Address& game,
                      const records::NetworkDescription& network, player::Role role,
                      const Address& self) {
    const auto money = game_money(client, game, network, role, self);
    if (!money.ok()) {
        spdlog::warn("disputes: the cost of moves is unknown: {}", money.error().message);
        return;
    }
    const std::string missing = money_missing(*money, self);
    if (missing.empty()) return;
    spdlog::error(
        "DISPUTES: {}; without it this node {}", missing,
        role == player::Role::kDefend ? "loses its stake by the clock" : "challenges no unit");
}

/// The contract that the verifier's reports are signed for. It stays the one of the reports that it
/// still defends: a coordinator that names another one must not make it miss their games.
Result<Address> find_report_game(const NodeConfig& config,
                                 const records::NetworkDescription& network,
                                 const player::ClaimStore& claims) {
    const std::filesystem::path file = config.data_dir / "report_game";
    std::error_code code;
    Address known;
    if (std::filesystem::exists(file, code)) {
        GYM_TRY(const Bytes text, read_file(file, 128));
        GYM_TRY(known, crypto::parse_address(std::string(text.begin(), text.end())));
    }
    if (known == network.report_game) return known;
    const bool defends = std::ranges::any_of(claims.list(), [](const auto& claim) {
        return claim->subject == player::Subject::kReport;
    });
    if (!known.is_zero() && defends) {
        spdlog::error(
            "DISPUTES: the coordinator names {} for games about reports; this verifier defends "
            "those that it signed for {} first, and signs no others until their windows are over",
            network.report_game.is_zero() ? "no contract" : network.report_game.hex(), known.hex());
        return known;
    }
    if (network.report_game.is_zero()) return Address();
    GYM_CHECK(write_file_atomic(file, as_bytes(network.report_game.hex()), 0600));
    return network.report_game;
}

}  // namespace

Result<std::unique_ptr<DisputeThread>> DisputeThread::start(
    const NodeConfig& config, const records::NetworkDescription& network,
    rpc::Coordinator& coordinator, const crypto::PrivateKey& key, player::Role role,
    OnEvent on_event) {
    if (config.dispute_game.empty()) {
        GYM_CHECK(role == player::Role::kDefend
                      ? check_plays_nothing(config, network, key.address())
                      : check_defends_no_reports(network));
        spdlog::warn("no dispute_game: this node plays no disputes on chain");
        return std::unique_ptr<DisputeThread>();
    }
    GYM_TRY(const Address contract, configured_game(config));
    GYM_TRY(auto store,
            chain_store::SqliteChainStore::open(config.data_dir / "transactions.sqlite"));
    GYM_TRY(auto claims, player::ClaimStore::open(config.claims_folder()));
    GYM_TRY(auto client, chain::make_http_client(config.chain_rpc));
    auto check = std::make_unique<GameCheck>(*client, contract, network);
    GYM_CHECK(first_look(*check, claims->has_any(player::Role::kDefend)));
    if (check->is_found()) warn_about_money(*client, contract, network, role, key.address());
    Address report_game;
    if (role == player::Role::kChallenge) {
        GYM_TRY(report_game, find_report_game(config, network, *claims));
    }
    GYM_TRY(rpc::BlobCache cache,
            rpc::BlobCache::open(config.data_dir / "blobs", coordinator, vault::StoreKey::of(key)));
    auto out = std::make_unique<DisputeThreadImpl>(
        config, network, key,
        DisputeThreadImpl::Parts{std::move(client), std::move(store), std::move(claims),
                                 std::move(cache), std::move(check), contract, report_game});
    spdlog::info("disputes are played in contract {}", contract.hex());
    out->run_as(role, std::move(on_event));
    return std::unique_ptr<DisputeThread>(std::move(out));
}

}  // namespace gym::node
