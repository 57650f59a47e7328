#include "coordinator_player.hpp"

#include <spdlog/spdlog.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/coordinator/adapters/coordinator_data.hpp"
#include "gym/coordinator/adapters/coordinator_units.hpp"
#include "gym/protocol/commitment.hpp"

namespace gym::app {

Result<std::unique_ptr<CoordinatorPlayer>> CoordinatorPlayer::open(
    const CoordinatorFile& file, const contracts::Deployment& deployment,
    chain::ChainClient& client, chain::TxManager& transactions, const blob::BlobStore& blobs,
    db::Database& database) {
    std::unique_ptr<CoordinatorPlayer> out(new CoordinatorPlayer());
    GYM_TRY(out->claims_,
            player::ClaimStore::open(std::filesystem::path(file.disputes_folder) / "claims"));
    const auto domain = protocol::signing_domain(deployment.chain_id, deployment.commitment_log);
    game::RerunWorkOptions options;
    options.engine.threads = file.engine_threads;
    options.engine.isa = file.engine_isa;
    options.spill.folder = file.disputes_folder;
    const std::stop_source stop;
    options.cancel = stop.get_token();
    out->units_ = coordinator::make_coordinator_units(blobs, domain, std::move(options));
    const player::PlayerSetup setup{
        client, transactions,  contracts::DisputeGame(deployment.dispute_game),
        domain, *out->claims_, *out->units_,
        {}};
    std::vector<std::unique_ptr<player::Player>> players;
    out->data_ = coordinator::make_coordinator_data(database, blobs, domain);
    players.push_back(player::make_defender(setup));
    players.push_back(player::make_data_defender(setup, *out->data_));
    players.push_back(player::make_challenger(setup));
    if (!deployment.report_game.is_zero())
        players.push_back(
            player::make_challenger(player::setup_of_reports(setup, deployment.report_game)));
    out->thread_.emplace(std::move(players), stop);
    return out;
}

namespace {

Status look_at_money(const contracts::Deployment& deployment, chain::ChainClient& client,
                     const Address& self, const Amount& minimum_stake) {
    GYM_TRY(const auto terms, contracts::DisputeGame(deployment.dispute_game).terms(client));
    GYM_TRY(const auto stake, contracts::Stake(deployment.stake).stake_of(client, self));
    if (stake.active < terms.bond)
        spdlog::warn(
            "{} stakes {} GYM, less than the bond of a game, {}: nobody will open a game about "
            "a wrong aggregate (add stake: `gym stake add` with the operator's key)",
            self.hex(), stake.active.to_tokens(), terms.bond.to_tokens());
    if (!minimum_stake.is_zero() && minimum_stake < terms.bond)
        spdlog::warn(
            "'minimum_stake' is {} GYM, less than the bond of a game, {}: nobody will open a "
            "game about a worker with so little stake",
            minimum_stake.to_tokens(), terms.bond.to_tokens());
    GYM_TRY(const Amount tokens,
            contracts::GymToken(deployment.chain_id, deployment.token).balance_of(client, self));
    if (tokens < terms.bond)
        spdlog::warn(
            "{} has {} GYM, a game takes a bond of {}: workers that sign twice keep their stake",
            self.hex(), tokens.to_tokens(), terms.bond.to_tokens());
    return {};
}

}  // namespace

void warn_about_disputes(const CoordinatorFile& file, const contracts::Deployment& deployment,
                         chain::ChainClient& client, const Address& self) {
    if (file.disputes_folder.empty()) {
        spdlog::warn(
            "no disputes_folder: any challenger of an aggregate wins by the clock, and workers "
            "that sign twice keep their stake; set disputes_folder");
        return;
    }
    if (const Status looked = look_at_money(deployment, client, self, file.minimum_stake);
        !looked.ok())
        spdlog::warn("stake and tokens of {} could not be read: {}", self.hex(),
                     looked.error().message);
}

}  // namespace gym::app
