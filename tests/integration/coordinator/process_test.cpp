// gym-coordinator as a process: PostgreSQL, a real chain, the engine, gRPC, and a stop on request.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "anvil.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/blob/directory_store.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/rpc/client.hpp"
#include "postgres.hpp"

namespace gym::testing {
namespace {

constexpr const char* kPassphrase = "correct horse";

std::string text_of(const std::filesystem::path& path) {
    const auto bytes = read_file(path);
    return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : "";
}

/// Everything that a coordinator needs, in a folder of its own.
class CoordinatorProcess : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(database_.as("gym_coordinator") != nullptr);  // makes the login role
        deploy_contracts();
        write("passphrase", kPassphrase, 0600);
        const auto secret = crypto::read_secret_file(folder() / "passphrase");
        ASSERT_TRUE(
            crypto::save_keystore(folder() / "key.json", key_, *secret, crypto::ScryptCost::light())
                .ok());
        const db::ConnectionConfig login = database_.config_as("gym_coordinator");
        write("db-password", login.password, 0600);
        write("coordinator.yaml", config(login), 0644);
    }
    void deploy_contracts() {
        const auto file = chain_store::SqliteChainStore::open(":memory:").value();
        const auto intents = file->intents(anvil_.chain_id(), key_.address());
        const SystemClock clock;
        chain::TxManager manager(anvil_.client(), *intents, key_.clone(), clock,
                                 test_policy(anvil_.chain_id()), chain::describe_revert);
        chain::DeployParams params;
        params.token_holder = key_.address();
        params.token_supply = params.growth_limit = params.release_cap = Amount(1'000);
        params.settler = params.guardian = params.coordinator = key_.address();
        const auto deployed = chain::deploy(manager, anvil_.client(),
                                            chain::find_artifacts().value(), params, 20'000);
        ASSERT_TRUE(deployed.ok()) << deployed.error().message;
        ASSERT_TRUE(chain::save_deployment(folder() / "deployment.json", *deployed).ok());
    }
    std::string config(const db::ConnectionConfig& login) {
        const std::string at = folder().string() + "/";
        return "listen:\n  address: 127.0.0.1:0\n  port_file: " + at +
               "port\ndatabase:\n  host: " + login.host +
               "\n  port: " + std::to_string(login.port) + "\n  database: " + login.database +
               "\n  user: " + login.user + "\n  password_file: " + at +
               "db-password\nchain:\n  rpc_url: " + anvil_.url() + "\n  deployment_file: " + at +
               "deployment.json\n  confirmations: 0\noperator:\n" + "  keystore_file: " + at +
               "key.json\n  passphrase_file: " + at + "passphrase\nblobs: " + at +
               "blobs\ntick_interval_ms: 50\n";
    }
    void write(const std::string& name, const std::string& text, unsigned mode) {
        ASSERT_TRUE(write_file_atomic(folder() / name, as_bytes(text), mode).ok());
    }
    [[nodiscard]] const std::filesystem::path& folder() const { return anvil_.folder(); }

    Subprocess start() {
        SubprocessOptions options;
        options.argv = {std::string(std::getenv("GYM_BINARY_DIR")) + "/bin/gym-coordinator",
                        "--config", (folder() / "coordinator.yaml").string()};
        options.log_file = folder() / "coordinator.log";
        auto started = Subprocess::start(options);
        GYM_ASSERT(started.ok(), started.ok() ? "" : started.error().message);
        return std::move(started).value();
    }
    /// Asks until there is an answer, twenty seconds at most.
    template <class F>
    bool eventually(F&& holds) {
        for (int i = 0; i < 400; ++i) {
            if (holds()) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        return false;
    }
    std::unique_ptr<rpc::Coordinator> dial(const crypto::PrivateKey& key) {
        EXPECT_TRUE(eventually([&] { return !text_of(folder() / "port").empty(); }))
            << text_of(folder() / "coordinator.log");
        rpc::ClientConfig config;
        config.target = "127.0.0.1:" + std::to_string(std::stoi(text_of(folder() / "port")));
        return rpc::connect(config, key.clone(), clock_).value();
    }
    Digest submit_job() {
        const blob::Dataset text =
            blob::Dataset::build_from_text(Bytes(4'000, std::uint8_t{'a'})).value();
        auto blobs = blob::DirectoryStore::open(folder() / "blobs").value();
        registry::Dataset dataset;
        dataset.root = text.root();
        dataset.blob = blobs.put(text.encode()).value();
        dataset.owner = key_.address();
        dataset.name = "text";
        dataset.tokens = 4'000;
        dataset.vocabulary = 256;
        registry::NewJob job;
        job.id = registry::make_job_id(key_.address(), "process test");
        job.owner = key_.address();
        job.name = "tiny";
        job.dataset_root = text.root();
        job.terms.steps = job.terms.checkpoint_every = 2;
        job.terms.price_wei_per_pflop = Amount(1);
        job.budget_wei = Amount(1'000'000);
        job.spec_yaml =
            "name: tiny\ndataset: \"" + text.root().hex() +
            "\"\nrounds: 1\nslots: 1\nsteps_per_round: 2\nprice_per_pflop: \"1\"\n"
            "budget: \"1\"\nmodel:\n  batch: 1\n  model:\n    vocabulary: 256\n    context: 16\n"
            "    layers: 1\n    heads: 2\n    width: 16\n";
        const auto submitted = database_.owner().transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(registry::register_dataset(tx, dataset));
            GYM_CHECK(registry::submit_job(tx, job, clock_.now_ms()));
            return {};
        });
        EXPECT_TRUE(submitted.ok());
        return job.id;
    }

    static chain::AnvilOptions options() {
        chain::AnvilOptions out;
        out.block_time_ms = 100;
        return out;
    }
    TestAnvil anvil_{options()};
    TestDatabase database_;
    SystemClock clock_;
    crypto::PrivateKey key_ = anvil_.funded_key(0);
};

TEST_F(CoordinatorProcess, serves_gives_out_work_and_stops_on_request) {
    const Digest job = submit_job();
    Subprocess process = start();
    const crypto::PrivateKey worker = crypto::PrivateKey::generate();
    const auto coordinator = dial(worker);
    EXPECT_EQ(coordinator->network()->chain_id, anvil_.chain_id());
    rpc::NodeProfile profile;
    profile.device = "cpu";
    const auto registered = coordinator->register_node(profile);
    ASSERT_TRUE(registered.ok()) << registered.error().message;
    ASSERT_TRUE(coordinator->heartbeat({}).ok());
    // The program is built, the round recorded and on chain, the unit assigned: all by the process.
    const auto task = coordinator->next_task(std::chrono::seconds(20));
    ASSERT_TRUE(task.ok()) << task.error().message;
    ASSERT_TRUE(task->has_value()) << text_of(folder() / "coordinator.log");
    EXPECT_EQ(std::get<rpc::TrainTask>(**task).unit.job_id, job);
    ASSERT_TRUE(process.stop(10'000).ok());
    EXPECT_NE(text_of(folder() / "coordinator.log").find("stopping on request"), std::string::npos);

    // Another process over the same stores gives the same unit to the same worker.
    std::filesystem::remove(folder() / "port");
    Subprocess again = start();
    const auto after = dial(worker)->next_task(std::chrono::seconds(20));
    ASSERT_TRUE(after.ok() && *after);
    EXPECT_EQ(std::get<rpc::TrainTask>(**after).unit, std::get<rpc::TrainTask>(**task).unit);
}

TEST_F(CoordinatorProcess, an_unknown_key_ends_it_with_its_name) {
    write("coordinator.yaml", text_of(folder() / "coordinator.yaml") + "colour: red\n", 0644);
    Subprocess process = start();
    EXPECT_EQ(*process.wait(20'000), 2);
    const std::string log = text_of(folder() / "coordinator.log");
    EXPECT_NE(log.find("colour"), std::string::npos) << log;
}

}  // namespace
}  // namespace gym::testing
