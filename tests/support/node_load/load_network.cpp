#include "load_network.hpp"

#include <csignal>
#include <cstdlib>
#include <thread>

#include "fake_compute.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/common/file.hpp"
#include "gym/contracts/artifact.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/vault/sealed_store.hpp"
#include "must.hpp"
#include "owner_orders.hpp"

namespace gym::testing {
namespace {

constexpr const char* kPassphrase = "correct horse";
constexpr std::chrono::seconds kStartTime{30};

chain::AnvilOptions chain_options() {
    chain::AnvilOptions out;
    out.block_time_ms = 200;
    return out;
}

std::string text_of(const std::filesystem::path& path) {
    const auto bytes = read_file(path);
    return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : "";
}

}  // namespace

LoadNetwork::LoadNetwork(const LoadOptions& options) : options_(options), anvil_(chain_options()) {
    prepare_database();
    deploy_contracts();
    write("passphrase", kPassphrase, 0600);
    const auto secret = must(crypto::read_secret_file(file("passphrase")));
    must(crypto::save_keystore(file("key.json"), key_, secret, crypto::ScryptCost::light()));
    write("db-password", database_.config_as("gym_coordinator").password, 0600);
    register_dataset();
    start_coordinator();
}

std::filesystem::path LoadNetwork::file(const std::string& name) const {
    return anvil_.folder() / name;
}

void LoadNetwork::write(const std::string& name, const std::string& text, unsigned mode) {
    must(write_file_atomic(file(name), as_bytes(text), mode));
}

void LoadNetwork::prepare_database() {
    const auto run = [&](const std::string& sql) {
        db::TransactOptions one;
        one.single_statement = one.idempotent = true;
        must(database_.owner().transact(
            [&](db::Transaction& tx) -> Status {
                GYM_CHECK(tx.exec(sql));
                return {};
            },
            one));
    };
    if (options_.durable) run("ALTER SYSTEM SET fsync = on");
    if (options_.statements)
        run("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'");
    if (options_.durable || options_.statements) {
        database_.owner().close_idle();
        must(postgres().restart());
    }
    if (options_.statements) run("CREATE EXTENSION pg_stat_statements");
    (void)database_.as("gym_coordinator");  // makes the login role
}

void LoadNetwork::deploy_contracts() {
    const auto store = must(chain_store::SqliteChainStore::open(":memory:"));
    const auto intents = store->intents(anvil_.chain_id(), key_.address());
    chain::TxManager manager(anvil_.client(), *intents, key_.clone(), clock_,
                             test_policy(anvil_.chain_id()), contracts::describe_revert);
    contracts::DeployParams params;
    params.token_holder = key_.address();
    params.token_supply = params.growth_limit = params.release_cap = Amount(1'000);
    params.settler = params.guardian = params.coordinator = key_.address();
    const auto deployed = must(contracts::deploy(
        manager, anvil_.client(), must(contracts::find_artifacts()), params, 60'000));
    must(contracts::save_deployment(file("deployment.json"), deployed));
}

void LoadNetwork::register_dataset() {
    auto blobs = must(vault::SealedStore::open(file("blobs"), std::filesystem::path()));
    const Bytes text{1, 2, 3};
    dataset_root_ = tagged("dataset", {text});
    registry::Dataset dataset;
    dataset.root = dataset_root_;
    dataset.blob = must(blobs.put(text));
    dataset.owner = key_.address();
    dataset.name = "three tokens";
    dataset.tokens = 3;
    dataset.vocabulary = 256;
    dataset.licence = "CC0-1.0";
    dataset.sample.emplace();
    must(database_.owner().transact(
        [&](db::Transaction& tx) { return registry::register_dataset(tx, dataset); }));
}

std::string LoadNetwork::config(std::size_t coordinator) const {
    const db::ConnectionConfig login = database_.config_as("gym_coordinator");
    const auto at = [&](const std::string& name) { return file(name).string(); };
    return "listen:\n  address: 127.0.0.1:0\n  port_file: " +
           at("port-" + std::to_string(coordinator)) +
           "\n  heartbeat_every_ms: " + std::to_string(options_.heartbeat_every_ms) + "\n" +
           // All nodes are on this machine.
           "  calls_of_address_max: 0\n  registrations_per_s_of_address: 0\n" + options_.listen +
           "database:\n  host: " + login.host + "\n  port: " + std::to_string(login.port) +
           "\n  database: " + login.database + "\n  user: " + login.user +
           "\n  password_file: " + at("db-password") + "\nchain:\n  rpc_url: " + anvil_.url() +
           "\n  deployment_file: " + at("deployment.json") +
           "\n  confirmations: 0\n  beacon_delay_blocks: 2\noperator:\n  keystore_file: " +
           at("key.json") + "\n  passphrase_file: " + at("passphrase") + "\nblobs: " + at("blobs") +
           "\nprice_per_pflop_min: \"0\"\n" + options_.settings;
}

std::size_t LoadNetwork::start_coordinator() {
    const std::size_t index = processes_.size();
    const std::string name = std::to_string(index);
    write("coordinator-" + name + ".yaml", config(index), 0644);
    SubprocessOptions options;
    options.argv = {std::string(std::getenv("GYM_BINARY_DIR")) + "/bin/gym-stub-coordinator",
                    "--config", file("coordinator-" + name + ".yaml").string()};
    options.log_file = file("coordinator-" + name + ".log");
    processes_.push_back({must(Subprocess::start(options)), 0});
    const auto deadline = std::chrono::steady_clock::now() + kStartTime;
    while (text_of(file("port-" + name)).empty()) {
        GYM_ASSERT(std::chrono::steady_clock::now() < deadline, log(index));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    processes_[index].port = std::stoi(text_of(file("port-" + name)));
    return index;
}

std::string LoadNetwork::target(std::size_t coordinator) const {
    return "127.0.0.1:" + std::to_string(processes_.at(coordinator).port);
}

pid_t LoadNetwork::pid(std::size_t coordinator) const {
    return processes_.at(coordinator).process->pid();
}

std::string LoadNetwork::log(std::size_t coordinator) const {
    return text_of(file("coordinator-" + std::to_string(coordinator) + ".log"));
}

void LoadNetwork::kill_coordinator(std::size_t coordinator) {
    auto& process = processes_.at(coordinator).process;
    process->signal(SIGKILL);
    (void)must(process->wait(10'000));
}

std::vector<Digest> LoadNetwork::submit_jobs(std::uint32_t jobs, std::uint32_t slots) {
    std::vector<Digest> out;
    must(database_.owner().transact([&](db::Transaction& tx) -> Status {
        for (std::uint32_t i = 0; i < jobs; ++i) {
            registry::NewJob job;
            job.id = registry::make_job_id(key_.address(), "load " + std::to_string(i));
            job.owner = key_.address();
            job.name = "load";
            job.dataset_root = dataset_root_;
            job.terms.slots_max = job.terms.workers_min = slots;
            job.terms.steps = job.terms.checkpoint_every = 2;
            job.terms.lifecycle.unit_ms = 600'000;
            job.terms.price_wei_per_pflop = Amount(1);
            job.budget_wei = Amount(1'000'000);
            job.spec_yaml = "load";
            GYM_CHECK(gym::testing::submit_job(tx, job, clock_.now_ms()));
            out.push_back(job.id);
        }
        return {};
    }));
    return out;
}

std::optional<registry::Round> LoadNetwork::round_one(const Digest& job) {
    auto rounds = must(database_.owner().transact(
        [&](db::Transaction& tx) { return registry::list_rounds(tx, job); }));
    if (rounds.empty()) return std::nullopt;
    return std::move(rounds.front());
}

std::uint64_t LoadNetwork::count_units(const Digest& job, const std::string& state) {
    const auto row = must(database_.owner().transact([&](db::Transaction& tx) {
        return tx.exec_one("SELECT count(*) FROM registry.unit WHERE job_id = $1 AND state = $2",
                           {job, state});
    }));
    return row.get<std::uint64_t>(0);
}

UnixMs LoadNetwork::last_commit_ms(const Digest& job) {
    const auto row = must(database_.owner().transact([&](db::Transaction& tx) {
        return tx.exec_one(
            "SELECT coalesce(max(committed_at_ms), 0) FROM registry.unit WHERE job_id = $1", {job});
    }));
    return row.get<UnixMs>(0);
}

DatabaseWork LoadNetwork::database_work() {
    return must(database_.owner().transact([&](db::Transaction& tx) -> Result<DatabaseWork> {
        GYM_TRY(const db::Row transactions, tx.exec_one("SELECT xact_commit FROM pg_stat_database "
                                                        "WHERE datname = current_database()"));
        DatabaseWork out;
        out.transactions = transactions.get<std::uint64_t>(0);
        if (!options_.statements) return out;
        GYM_TRY(const db::Row statements,
                tx.exec_one("SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements"));
        out.statements = statements.get<std::uint64_t>(0);
        return out;
    }));
}

std::string LoadNetwork::costly_statements(int count) {
    if (!options_.statements) return {};
    const auto rows = must(database_.owner().transact([&](db::Transaction& tx) {
        return tx.exec(
            "SELECT format('%8s ms %8s calls  %s', round(total_exec_time), calls, "
            "left(regexp_replace(query, '\\s+', ' ', 'g'), 110)) FROM pg_stat_statements "
            "ORDER BY total_exec_time DESC LIMIT $1",
            {count});
    }));
    std::string out;
    for (const db::Row row : rows)
        out += row.get<std::string>(0) + "\n";
    return out;
}

std::uint64_t LoadNetwork::statement_calls(const std::string& like) {
    if (!options_.statements) return 0;
    const auto row = must(database_.owner().transact([&](db::Transaction& tx) {
        return tx.exec_one(
            "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements WHERE "
            "query LIKE $1",
            {like});
    }));
    return row.get<std::uint64_t>(0);
}

void LoadNetwork::forget_statements() {
    if (!options_.statements) return;
    must(database_.owner().transact([&](db::Transaction& tx) -> Status {
        GYM_CHECK(tx.exec("SELECT pg_stat_statements_reset()"));
        return {};
    }));
}

}  // namespace gym::testing
