#include "coordinator_player.hpp"

#include <spdlog/spdlog.h>

#include <filesystem>

#include "gym/chain/contracts.hpp"
#include "gym/chain/dispute_contracts.hpp"
#include "gym/coordinator/aggregate_units.hpp"
#include "gym/protocol/commitment.hpp"

namespace gym::app {
namespace {

constexpr std::chrono::milliseconds kTickEvery{500};

}  // namespace

Result<std::unique_ptr<CoordinatorPlayer>> CoordinatorPlayer::open(
    const CoordinatorFile& file, const chain::Deployment& deployment, chain::ChainClient& client,
    chain::TxManager& transactions, const blob::BlobStore& blobs) {
    std::unique_ptr<CoordinatorPlayer> out(new CoordinatorPlayer());
    GYM_TRY(out->claims_,
            player::ClaimStore::open(std::filesystem::path(file.disputes_folder) / "claims"));
    const auto domain = protocol::signing_domain(deployment.chain_id, deployment.commitment_log);
    game::RerunWorkOptions options;
    options.engine.threads = file.engine_threads;
    options.engine.isa = file.engine_isa;
    options.spill.folder = file.disputes_folder;
    out->units_ = coordinator::make_aggregate_units(blobs, domain, std::move(options));
    const player::PlayerSetup setup{
        client, transactions,  chain::DisputeGame(deployment.dispute_game),
        domain, *out->claims_, *out->units_,
        {}};
    out->defender_ = player::make_defender(setup);
    out->challenger_ = player::make_challenger(setup);
    return out;
}

void CoordinatorPlayer::tick() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + kTickEvery;
    const Status defended = defender_->tick();
    say(defended.ok() ? challenger_->tick() : defended);
}

void CoordinatorPlayer::say(const Status& done) {
    const std::string message = done.ok() ? "" : done.error().message;
    if (message == failing_) return;
    if (done.ok())
        spdlog::info("disputes: the chain answers again");
    else
        spdlog::warn("disputes: {}", message);  // one line an outage
    failing_ = message;
}

namespace {

Status look_at_money(const chain::Deployment& deployment, chain::ChainClient& client,
                     const Address& self) {
    GYM_TRY(const auto stake, chain::Stake(deployment.stake).stake_of(client, self));
    if (stake.active.is_zero())
        spdlog::warn(
            "{} has no stake: nothing speaks against a wrong aggregate but its name (`gym stake "
            "add` with the operator's key)",
            self.hex());
    GYM_TRY(const auto terms, chain::DisputeGame(deployment.dispute_game).terms(client));
    GYM_TRY(const Amount tokens,
            chain::GymToken(deployment.chain_id, deployment.token).balance_of(client, self));
    if (tokens < terms.bond)
        spdlog::warn(
            "{} has {} tokens, a game takes a bond of {}: workers that sign twice keep their stake",
            self.hex(), tokens.to_tokens(), terms.bond.to_tokens());
    return {};
}

}  // namespace

void warn_about_disputes(const CoordinatorFile& file, const chain::Deployment& deployment,
                         chain::ChainClient& client, const Address& self) {
    if (file.disputes_folder.empty()) {
        spdlog::warn(
            "no disputes_folder: who opens a game about an aggregate wins it by the clock, and "
            "workers that sign twice keep their stake");
        return;
    }
    if (const Status looked = look_at_money(deployment, client, self); !looked.ok())
        spdlog::warn("stake and tokens of {} could not be read: {}", self.hex(),
                     looked.error().message);
}

}  // namespace gym::app
