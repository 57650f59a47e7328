#include "gym/devnet/infrastructure.hpp"

#include <algorithm>

#include "gym/chain/private_chain.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/contracts/account.hpp"
#include "gym/contracts/artifact.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/gym_token.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/db/migrate.hpp"
#include "gym/db/private_cluster.hpp"
#include "gym/game/dispute_params.hpp"

namespace gym::devnet {

// Keys

namespace {

/// Longer than it takes to be sure that a node with the same key took a transaction's number.
constexpr std::uint32_t kTransactionTimeoutMs = 150'000;

std::vector<std::string> key_holders(const Layout& layout) {
    std::vector<std::string> out{kDeployer, kCoordinator, kSettler,
                                 kJobOwner, kProvider,    kVerifier};
    for (std::string& name : layout.worker_names())
        out.push_back(std::move(name));
    return out;
}

}  // namespace

Status ensure_keys(const Layout& layout) {
    for (const std::string& holder : key_holders(layout)) {
        GYM_TRY(const std::string passphrase, ensure_secret(layout.passphrase(holder)));
        std::error_code error;
        if (std::filesystem::exists(layout.keystore(holder), error)) continue;
        // A throw-away network: the light cost keeps its start short.
        GYM_CHECK(crypto::save_keystore(layout.keystore(holder), crypto::PrivateKey::generate(),
                                        crypto::SecretBytes(passphrase),
                                        crypto::ScryptCost::light()));
    }
    return {};
}

Result<crypto::PrivateKey> holder_key(const Layout& layout, const std::string& holder) {
    GYM_TRY(const std::string passphrase, ensure_secret(layout.passphrase(holder)));
    return crypto::load_keystore(layout.keystore(holder), crypto::SecretBytes(passphrase));
}

Result<std::unique_ptr<contracts::Account>> open_account(const Layout& layout,
                                                         const std::string& holder) {
    GYM_TRY(crypto::PrivateKey key, holder_key(layout, holder));
    return contracts::Account::open({.url = layout.chain_url(),
                                     .store = layout.root / (holder + ".sqlite"),
                                     .timeout_ms = kTransactionTimeoutMs},
                                    std::move(key));
}

Result<Address> holder_address(const Layout& layout, const std::string& holder) {
    return crypto::keystore_address(layout.keystore(holder));
}

// Database

namespace {

Result<db::PrivateCluster> open_cluster(const Layout& layout) {
    return db::PrivateCluster::prepare(
        {.folder = layout.postgres, .durability = db::Durability::kProcessCrash});
}

}  // namespace

Status start_database(const Layout& layout, const std::filesystem::path& migrations) {
    GYM_TRY(db::PrivateCluster cluster, open_cluster(layout));
    GYM_CHECK(cluster.start());
    if (Status created = cluster.create_database(kDatabase);
        !created.ok() && created.error().code != ErrorCode::kAlreadyExists)
        return created;
    GYM_TRY(auto database, db::Database::open(cluster.superuser(kDatabase)));
    GYM_TRY(const auto report, db::migrate(*database, migrations));
    (void)report;
    for (const std::string service :
         {kDbCoordinator, kDbRewards, kDbApi, kDbEvaluator, kDbAuditor}) {
        GYM_TRY(const std::string password, ensure_secret(layout.secrets() / ("db-" + service)));
        GYM_CHECK(db::ensure_login_role(*database, service, password, "gym_" + service));
    }
    return {};
}

Result<std::string> auditor_access(const Layout& layout) {
    GYM_TRY(const db::ConnectionConfig access, database_access(layout));
    const std::string user = kDbAuditor;
    return "PGHOST=" + access.host + " PGPORT=" + std::to_string(access.port) +
           " PGDATABASE=" + kDatabase + " PGUSER=" + user + " PGPASSWORD=$(cat " +
           (layout.secrets() / ("db-" + user)).string() + ")";
}

Result<db::ConnectionConfig> database_access(const Layout& layout) {
    GYM_TRY(const db::PrivateCluster cluster, open_cluster(layout));
    return cluster.superuser(kDatabase);
}

Result<std::unique_ptr<db::Database>> open_database(const Layout& layout) {
    GYM_TRY(db::ConnectionConfig access, database_access(layout));
    return db::Database::open(std::move(access));
}

Status stop_database(const Layout& layout) {
    std::error_code error;
    if (!std::filesystem::exists(layout.postgres / "data", error)) return {};
    GYM_TRY(db::PrivateCluster cluster, open_cluster(layout));
    return cluster.stop();
}

// Chain

namespace {

constexpr const char* kProcess = "anvil";
constexpr std::uint32_t kDeployTimeoutMs = 60'000;
// Limits far above what a development network moves; a real network sets them from its budget.
const char* const kLimitTokens = "1000000000";
const char* const kPocketTokens = "100";  // for the bonds of players

/// Short enough to watch a dispute from beginning to end.
game::DisputeParams dispute_params(const ChainOptions& options) {
    game::DisputeParams out;
    out.clock_s = options.dispute_clock_s;
    out.settling_s = 2 * out.clock_s;
    out.announce_blocks = 1;
    out.block_time_s = options.block_time_ms / 1000 + 1;
    out.window_blocks = std::uint64_t{options.dispute_window_s} * 1000 / options.block_time_ms;
    out.open_blocks = static_cast<std::uint32_t>(out.window_blocks);
    out.notice_blocks =
        std::min(out.notice_blocks, std::max<std::uint64_t>(1, out.window_blocks / 4));
    out.thaw_period_s = out.window_blocks * out.block_time_s + 2 * out.clock_s;
    return out;
}

Status fund_holders(const Layout& layout) {
    GYM_TRY(const Amount gas_money, Amount::parse_tokens("100"));
    std::vector<std::string> holders{kDeployer, kCoordinator, kSettler,
                                     kJobOwner, kProvider,    kVerifier};
    for (const std::string& worker : layout.worker_names())
        holders.push_back(worker);
    for (const std::string& holder : holders) {
        GYM_TRY(const Address address, holder_address(layout, holder));
        GYM_CHECK(chain::fund_on_anvil(layout.chain_url(), address, gas_money));
    }
    return {};
}

Result<contracts::DeployParams> deploy_params(const Layout& layout, const ChainOptions& options) {
    contracts::DeployParams params;
    GYM_TRY(params.token_holder, holder_address(layout, kJobOwner));
    GYM_TRY(params.settler, holder_address(layout, kSettler));
    GYM_TRY(params.guardian, holder_address(layout, kDeployer));
    GYM_TRY(params.coordinator, holder_address(layout, kCoordinator));
    GYM_TRY(params.growth_limit, Amount::parse_tokens(kLimitTokens));
    GYM_TRY(params.release_cap, Amount::parse_tokens(kLimitTokens));
    params.token_supply = options.token_supply;
    params.dispute = dispute_params(options);
    return params;
}

/// The faucet: the job owner, who has all tokens, gives whoever plays games some for bonds, and
/// stakes for those who sign: workers, the coordinator and the verifier. By fixed names, so that a
/// repetition pays nothing twice.
Status hand_out_tokens(const Layout& layout, const contracts::Deployment& deployment) {
    GYM_TRY(const Amount pocket, Amount::parse_tokens(kPocketTokens));
    GYM_TRY(const Amount stake_each, Amount::parse_tokens(kStakeTokens));
    GYM_TRY(const auto faucet, open_account(layout, kJobOwner));
    const contracts::GymToken token(deployment.chain_id, deployment.token);
    const contracts::Stake stake(deployment.stake);
    chain::TxManager& manager = faucet->manager();
    std::vector<std::string> players = layout.worker_names();
    players.emplace_back(kCoordinator);
    GYM_TRY(const Amount all, stake_each.mul_div(Amount(players.size()), Amount(1)));
    GYM_CHECK(manager.submit(token.approve(deployment.stake, all).intent("faucet/approve")));
    std::vector<std::string> sent;
    if (!deployment.verifier_stake.is_zero()) {  // an older gym's network has none
        GYM_TRY(const Address verifier, holder_address(layout, kVerifier));
        GYM_CHECK(manager.submit(token.approve(deployment.verifier_stake, stake_each)
                                     .intent("faucet/approve-verifiers")));
        sent.emplace_back("faucet/stake/verifier");
        GYM_CHECK(manager.submit(contracts::Stake(deployment.verifier_stake)
                                     .stake(verifier, stake_each)
                                     .intent(sent.back())));
    }
    for (const std::string& signer : players) {
        GYM_TRY(const Address address, holder_address(layout, signer));
        sent.push_back("faucet/stake/" + signer);
        GYM_CHECK(manager.submit(stake.stake(address, stake_each).intent(sent.back())));
    }
    players.emplace_back(kVerifier);
    for (const std::string& player : players) {
        GYM_TRY(const Address address, holder_address(layout, player));
        sent.push_back("faucet/pocket/" + player);
        GYM_CHECK(manager.submit(token.transfer(address, pocket).intent(sent.back())));
    }
    for (const std::string& id : sent)
        GYM_CHECK(manager.wait_mined(id, kDeployTimeoutMs));
    return {};
}

}  // namespace

Result<contracts::Deployment> start_chain(const Layout& layout, ProcessTable& processes,
                                          const ChainOptions& options) {
    const auto entry = processes.find(kProcess);
    const bool runs = entry.ok() && entry->running;
    if (runs) {
        // Without the file an earlier start was cut off while it deployed: continue.
        auto deployed = contracts::load_deployment(layout.deployment());
        if (deployed.ok() || deployed.error().code != ErrorCode::kNotFound) return deployed;
    } else {
        GYM_TRY(const chain::PrivateAnvil anvil,
                chain::PrivateAnvil::start(layout.anvil(), {.port = layout.chain_port,
                                                            .block_time_ms = options.block_time_ms,
                                                            .persist = true,
                                                            .detached = true}));
        GYM_CHECK(processes.adopt(kProcess, anvil.pid()));
    }
    GYM_CHECK(fund_holders(layout));

    GYM_TRY(const auto deployer, open_account(layout, kDeployer));
    GYM_TRY(const auto artifacts, contracts::find_artifacts());
    GYM_TRY(const contracts::DeployParams params, deploy_params(layout, options));
    GYM_TRY(const contracts::Deployment deployment,
            contracts::deploy(deployer->manager(), deployer->client(), artifacts, params,
                              kDeployTimeoutMs));
    GYM_CHECK(hand_out_tokens(layout, deployment));
    GYM_CHECK(contracts::save_deployment(layout.deployment(), deployment));
    return deployment;
}

}  // namespace gym::devnet
