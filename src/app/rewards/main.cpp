#include <signal.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "cli_context.hpp"
#include "gym/chain/client.hpp"
#include "gym/common/log.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/crypto/keystore.hpp"
#include "program_main.hpp"
#include "rewards_config.hpp"
#include "service.hpp"

namespace {

using namespace gym;

constexpr int kDatabaseConnections = 4;
constexpr std::chrono::seconds kDatabaseWait{60};  // services of one machine start in any order
constexpr std::int64_t kRetryMsMax = 30'000;

volatile sig_atomic_t stop_requested = 0;
extern "C" void on_signal(int) {
    stop_requested = 1;
}

void stop_on_signals() {
    struct sigaction action {};
    action.sa_handler = on_signal;
    ::sigaction(SIGTERM, &action, nullptr);
    ::sigaction(SIGINT, &action, nullptr);
}

/// Sleeps in short pieces, so that a stop is never far away.
void pause_ms(std::int64_t ms) {
    constexpr std::int64_t kPieceMs = 50;
    for (; ms > 0 && stop_requested == 0; ms -= kPieceMs) {
        const std::int64_t piece = std::min(ms, kPieceMs);
        const timespec time{piece / 1000, (piece % 1000) * 1'000'000};
        ::nanosleep(&time, nullptr);
    }
}

void log_tick(const app::RewardsService::Tick& tick, std::string& last_warning) {
    const auto& rewards = tick.rewards;
    if (rewards.unit_events + rewards.reports + rewards.rounds > 0)
        spdlog::info("booked {} unit events, {} reports, {} rounds", rewards.unit_events,
                     rewards.reports, rewards.rounds);
    if (rewards.epoch_closed) spdlog::info("closed payout epoch {}", *rewards.epoch_closed);
    if (rewards.reconciliation && !rewards.reconciliation->agrees())
        spdlog::error(
            "block {}: the contracts hold {} and {} wei and paid {}, the ledger says {}, {}, {}",
            rewards.reconciliation->block, rewards.reconciliation->escrow_chain.to_string(),
            rewards.reconciliation->distributor_chain.to_string(),
            rewards.reconciliation->claimed_chain.to_string(),
            rewards.reconciliation->escrow_ledger.to_string(),
            rewards.reconciliation->distributor_ledger.to_string(),
            rewards.reconciliation->claimed_ledger.to_string());
    std::string warning;
    for (const std::string& text : tick.chain.warnings)
        warning += (warning.empty() ? "" : "; ") + text;
    if (!warning.empty() && warning != last_warning) spdlog::warn("{}", warning);
    last_warning = warning;
}

/// Errors that time mends are tried again, later and later; any other stops the daemon, because
/// money needs a person then.
Status serve(app::RewardsService& service, std::int64_t poll_interval_ms) {
    std::int64_t wait_ms = poll_interval_ms;
    std::string last_warning;
    while (stop_requested == 0) {
        const auto tick = service.tick();
        if (tick.ok()) {
            log_tick(*tick, last_warning);
            wait_ms = poll_interval_ms;
        } else if (tick.error().code == ErrorCode::kUnavailable ||
                   tick.error().code == ErrorCode::kTimeout) {
            wait_ms = std::min(wait_ms * 2, kRetryMsMax);
            spdlog::warn("{}; trying again in {} ms", tick.error().message, wait_ms);
        } else {
            return tick.error();
        }
        pause_ms(wait_ms);
    }
    spdlog::info("stopped on request");
    return {};
}

Status run(const std::string& config_path) {
    GYM_TRY(const app::RewardsFile file, app::load_rewards_file(config_path));
    app::ServiceOptions options;
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
                           kDatabaseWait));
    GYM_TRY(const auto client, chain::make_http_client(file.rpc_url));
    const SystemClock clock;
    GYM_TRY(const auto service,
            app::RewardsService::create(*database, *client, settler, clock, options));
    spdlog::info("settling as {} on chain {}, database {}", settler.address().hex(),
                 options.deployment.chain_id, file.database.describe());
    return serve(*service, file.poll_interval_ms);
}

int run_program(int argc, char** argv) {
    app::CliContext context{.program = "gym-rewards"};
    CLI::App program{"Turns final units into ledger postings and payout roots on chain",
                     "gym-rewards"};
    std::string config_path;
    std::string log_level = "info";
    program
        .add_option("--config", config_path,
                    "Configuration (deploy/config/rewards.yaml explains every key)")
        ->required()
        ->check(CLI::ExistingFile);
    program.add_option("--log-level", log_level, "trace, debug, info, warn or error");
    if (const auto code = app::parse_command_line(program, argc, argv)) return *code;
    stop_on_signals();
    Status status = init_logging({"gym-rewards", log_level, ""});
    if (status.ok()) status = run(config_path);
    context.finish(status);
    return static_cast<int>(context.exit_code);
}

}  // namespace

int main(int argc, char** argv) {
    return gym::app::program_main("gym-rewards", [&] { return run_program(argc, argv); });
}
