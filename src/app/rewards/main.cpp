#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <stop_token>

#include "gym/chain/client.hpp"
#include "gym/common/stop.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/registry/service_health.hpp"
#include "health_report.hpp"
#include "rewards_config.hpp"
#include "service.hpp"
#include "service_main.hpp"

namespace {

using namespace gym;

constexpr const char* kName = "gym-rewards";
constexpr int kDatabaseConnections = 4;
constexpr std::chrono::seconds kDatabaseWait{60};  // services of one machine start in any order
constexpr std::chrono::milliseconds kRetryPauseMax{30'000};

void log_tick(const app::RewardsService::Tick& tick, std::string& last_warning) {
    const auto& rewards = tick.rewards;
    if (rewards.orders + rewards.locks > 0)
        spdlog::info("decided {} orders of job owners, locked or gave up {}", rewards.orders,
                     rewards.locks);
    if (rewards.unit_events + rewards.reports + rewards.rounds > 0)
        spdlog::info("booked {} unit events, {} reports, {} rounds", rewards.unit_events,
                     rewards.reports, rewards.rounds);
    if (rewards.epoch_closed) spdlog::info("closed payout epoch {}", *rewards.epoch_closed);
    if (rewards.reconciliation && !rewards.reconciliation->agrees())
        spdlog::error(
            "block {}: the contracts hold {} and {} wei, paid {} and locked {}, the ledger "
            "says {}, {}, {}, {}",
            rewards.reconciliation->block, rewards.reconciliation->escrow_chain.to_string(),
            rewards.reconciliation->distributor_chain.to_string(),
            rewards.reconciliation->claimed_chain.to_string(),
            rewards.reconciliation->locked_chain.to_string(),
            rewards.reconciliation->escrow_ledger.to_string(),
            rewards.reconciliation->distributor_ledger.to_string(),
            rewards.reconciliation->claimed_ledger.to_string(),
            rewards.reconciliation->locked_ledger.to_string());
    std::string warning;
    for (const std::string& text : tick.chain.warnings)
        warning += (warning.empty() ? "" : "; ") + text;
    if (!warning.empty() && warning != last_warning) spdlog::warn("{}", warning);
    last_warning = warning;
}

/// Errors that time mends are tried again, later and later; any other stops the daemon, because
/// money needs a person then.
Status drive(app::RewardsService& service, std::chrono::milliseconds poll_interval,
             app::HealthReport& health, const std::stop_token& stop) {
    std::chrono::milliseconds pause = poll_interval;
    std::string last_warning;
    while (!stop.stop_requested()) {
        const auto tick = service.tick();
        health.set(tick.ok() ? Status() : Status(tick.error()));
        if (tick.ok()) {
            log_tick(*tick, last_warning);
            pause = poll_interval;
        } else if (tick.error().code == ErrorCode::kUnavailable ||
                   tick.error().code == ErrorCode::kTimeout) {
            pause = std::min(pause * 2, kRetryPauseMax);
            spdlog::warn("{}; trying again in {} ms", tick.error().message, pause.count());
        } else {
            return tick.error();
        }
        wait_for_stop(stop, pause);
    }
    return {};
}

Status serve(const app::RewardsFile& file, const std::stop_token& stop) {
    app::RewardsServiceOptions options;
    options.rewards = file.rewards;
    options.policy.bump_after_ms = file.bump_after_ms;
    options.publish_folder = file.publish_folder;
    options.blob_folder = file.blob_folder;
    GYM_TRY(options.deployment, contracts::load_deployment(file.deployment_file));
    GYM_TRY(const crypto::SecretBytes passphrase, crypto::read_secret_file(file.passphrase_file));
    GYM_TRY(const crypto::PrivateKey settler,
            crypto::load_keystore(file.keystore_file, passphrase));
    GYM_TRY(const auto database,
            db::with_retry([&] { return db::Database::open(file.database, kDatabaseConnections); },
                           kDatabaseWait, stop));
    GYM_TRY(const auto client, chain::make_http_client(file.rpc_url));
    const SystemClock clock;
    GYM_TRY(const auto service,
            app::RewardsService::create(*database, *client, settler, clock, options));
    app::log_ready(fmt::format("settling as {} on chain {}, database {}", settler.address().hex(),
                               options.deployment.chain_id, file.database.describe()));
    app::HealthReport health(*database, clock, registry::kRewardsService);
    return drive(*service, std::chrono::milliseconds(file.poll_interval_ms), health, stop);
}

Status start(const std::string& config_path) {
    GYM_TRY(const app::RewardsFile file, app::load_rewards_file(config_path));
    return app::run_service({.name = kName, .log_level = file.log_level},
                            [&](const std::stop_token& stop) { return serve(file, stop); });
}

}  // namespace

int main(int argc, char** argv) {
    std::string config_path;
    const app::ServiceProgram program{
        .name = kName,
        .description = "Turn final units into ledger postings and payout roots on chain",
        .add_options =
            [&](CLI::App& command_line, app::CliContext&) {
                app::add_config_option(command_line, config_path, "rewards.yaml");
            },
        .start = [&](const app::CliContext&) { return start(config_path); }};
    return app::service_main(program, argc, argv);
}
