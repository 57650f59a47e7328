#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "anvil.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/chain_store/sqlite.hpp"
#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/contracts/artifact.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/deploy.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/rpc/client.hpp"
#include "gym/vault/sealed_store.hpp"
#include "owner_orders.hpp"
#include "postgres.hpp"

namespace gym::testing {

inline constexpr const char* kPassphrase = "correct horse";

inline std::string text_of(const std::filesystem::path& path) {
    const auto bytes = read_file(path);
    return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : "";
}

/// gym-coordinator as a process, and everything that it needs in a folder of its own: PostgreSQL, a
/// real chain, keys, configuration.
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
                                 test_policy(anvil_.chain_id()), contracts::describe_revert);
        contracts::DeployParams params;
        params.token_holder = key_.address();
        params.token_supply = params.growth_limit = params.release_cap = Amount(1'000);
        params.settler = params.guardian = params.coordinator = key_.address();
        prepare(params);
        const auto deployed = contracts::deploy(
            manager, anvil_.client(), contracts::find_artifacts().value(), params, 20'000);
        ASSERT_TRUE(deployed.ok()) << deployed.error().message;
        ASSERT_TRUE(contracts::save_deployment(folder() / "deployment.json", *deployed).ok());
        prepare(*deployed, manager);
    }
    /// The differences of a test's contracts, and the state of the chain before the program starts,
    /// which then has the key alone.
    virtual void prepare(contracts::DeployParams& /*params*/) {}
    virtual void prepare(const contracts::Deployment& /*deployed*/, chain::TxManager& /*sender*/) {}
    std::string config(const db::ConnectionConfig& login) {
        return config(login, "", more_config());
    }
    /// @param prefix of the files that no two instances share. @param more further keys.
    std::string config(const db::ConnectionConfig& login, const std::string& prefix,
                       const std::string& more) {
        const std::string at = folder().string() + "/";
        return "listen:\n  address: 127.0.0.1:0\n  port_file: " + at + prefix +
               "port\ndatabase:\n  host: " + login.host +
               "\n  port: " + std::to_string(login.port) + "\n  database: " + login.database +
               "\n  user: " + login.user + "\n  password_file: " + at +
               "db-password\nchain:\n  rpc_url: " + anvil_.url() + "\n  deployment_file: " + at +
               "deployment.json\n  confirmations: 0\n  beacon_delay_blocks: 2\noperator:\n" +
               "  keystore_file: " + at + "key.json\n  passphrase_file: " + at +
               "passphrase\nblobs: " + at + "blobs\ndisputes_folder: " + at + prefix +
               "disputes\ntick_interval_ms: 50\nprice_per_pflop_min: \"" + price_per_pflop_min() +
               "\"\n" + more;
    }
    /// Its jobs pay next to nothing.
    virtual std::string price_per_pflop_min() { return "0"; }
    /// Further keys of the coordinator's file.
    virtual std::string more_config() { return {}; }
    void write(const std::string& name, const std::string& text, unsigned mode) {
        ASSERT_TRUE(write_file_atomic(folder() / name, as_bytes(text), mode).ok());
    }
    [[nodiscard]] const std::filesystem::path& folder() const { return anvil_.folder(); }

    /// @param name of its configuration file and its log.
    Subprocess start(const std::string& name = "coordinator") {
        SubprocessOptions options;
        options.argv = {std::string(std::getenv("GYM_BINARY_DIR")) + "/bin/gym-coordinator",
                        "--config", (folder() / (name + ".yaml")).string()};
        options.log_file = folder() / (name + ".log");
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
    /// The port that the program listens on, once it does.
    int port() {
        EXPECT_TRUE(eventually([&] { return !text_of(folder() / "port").empty(); }))
            << text_of(folder() / "coordinator.log");
        return std::stoi(text_of(folder() / "port"));
    }
    std::unique_ptr<rpc::Coordinator> dial(const crypto::PrivateKey& key) {
        rpc::ClientConfig config;
        config.target = "127.0.0.1:" + std::to_string(port());
        return rpc::connect(config, key.clone(), clock_).value();
    }
    /// What the job trains on, 4,000 bytes. Here every unit's text is the same, and so its delta.
    [[nodiscard]] virtual Bytes words() const { return Bytes(4'000, std::uint8_t{'a'}); }
    /// Of the model, in columns.
    [[nodiscard]] virtual std::uint32_t width() const { return 16; }
    /// Further lines of the model file.
    [[nodiscard]] virtual std::string more_of_model() const { return {}; }
    /// What a test's job has other than below.
    virtual void change(registry::JobTerms& /*terms*/) const {}
    /// One round of a tiny model, two steps a unit.
    Digest submit_job(std::uint32_t slots = 1, std::uint32_t unit_ms = 600'000) {
        const blob::Dataset text = blob::Dataset::build_from_text(words()).value();
        auto blobs = vault::SealedStore::open(folder() / "blobs", std::filesystem::path()).value();
        registry::Dataset dataset;
        dataset.root = text.root();
        dataset.blob = blobs.put(text.encode()).value();
        dataset.owner = key_.address();
        dataset.name = "text";
        dataset.tokens = 4'000;
        dataset.vocabulary = 256;
        dataset.licence = "CC0-1.0";
        dataset.sample.emplace();
        registry::NewJob job;
        job.id = registry::make_job_id(key_.address(), "process test");
        job.owner = key_.address();
        job.name = "tiny";
        job.dataset_root = text.root();
        job.terms.steps = job.terms.checkpoint_every = 2;
        job.terms.slots_max = job.terms.workers_min = slots;
        job.terms.lifecycle.unit_ms = unit_ms;
        job.terms.price_wei_per_pflop = Amount(1);
        change(job.terms);
        job.budget_wei = Amount(1'000'000);
        job.spec_yaml = "name: tiny\ndataset: \"" + text.root().hex() +
                        "\"\nrounds: 1\nslots: 1\nsteps_per_round: 2\nprice_per_pflop: \"1\"\n"
                        "budget: \"1\"\nmodel:\n  batch: 1\n" +
                        more_of_model() +
                        "  model:\n    vocabulary: 256\n    context: 16\n"
                        "    layers: 1\n    heads: 2\n    width: " +
                        std::to_string(width()) + "\n";
        const auto submitted = database_.owner().transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(registry::register_dataset(tx, dataset));
            GYM_CHECK(gym::testing::submit_job(tx, job, clock_.now_ms()));
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

}  // namespace gym::testing
