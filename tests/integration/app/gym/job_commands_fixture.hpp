#pragma once

#include <boost/json.hpp>
#include <string>
#include <thread>

#include "api_fixture.hpp"
#include "command.hpp"
#include "gym/api/api.hpp"
#include "gym/api/mixes.hpp"
#include "gym/api/uploads.hpp"
#include "gym/common/clock.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/http_server/server.hpp"

namespace gym::api::testing {

/// `gym` in a process of its own against a real gym-api on a real PostgreSQL, with a job file, a
/// model and a text in a folder, which is its home, too.
class JobCommandsTest : public ApiDatabaseTest {
  protected:
    void SetUp() override {
        // `gym` signs by the machine's clock.
        clock_.advance_ms(SystemClock().now_ms() - clock_.now_ms());
        ApiDatabaseTest::SetUp();
        PostgresBackend::Options options;
        options.asset = kAsset;
        options.network = kNetwork;
        options.uploads.emplace(place_ / "uploads", vault::StoreKey::random());
        storage_.emplace(*api_db_, blobs_, clock_, options);
        uploads_.emplace(*api_db_, *options.uploads, clock_);
        ApiDependencies dependencies{*storage_, *storage_, *storage_, clock_};
        dependencies.uploads = &*uploads_;
        mixes_.emplace(*api_db_, blobs_, clock_, place_ / "mixes", options);
        dependencies.mixes = &*mixes_;
        api_.emplace(dependencies, ApiOptions{});
        auto started = http_server::Server::start({}, *api_);
        ASSERT_TRUE(started.ok()) << started.error().message;
        server_ = std::move(started).value();
        ::setenv("GYM_API", ("http://127.0.0.1:" + std::to_string(server_->port())).c_str(), 1);
        ::setenv("GYM_API_KEY", create_key(*api_db_, owner_, "test", 1).value().c_str(), 1);
        ::setenv("GYM_HOME", (place_ / ".gym").c_str(), 1);
        note_speed(50'000'000'000);
        hold_key(1);
        gym::testing::spill(place_ / "model.yaml",
                            "batch: 2\nmodel: {vocabulary: 256, context: 16, layers: 1, heads: 1, "
                            "width: 16}\n");
        gym::testing::spill(place_ / "text.txt", std::string(4'000, 'z'));
        write_job("");
    }
    void TearDown() override {
        server_->stop(1'000);
        ::unsetenv("GYM_API");
        ::unsetenv("GYM_API_KEY");
        for (const char* name : {"GYM_HOME", "GYM_PASSPHRASE", "GYM_DEPLOYMENT"})
            ::unsetenv(name);
    }
    void write_job(const std::string& extra) {
        gym::testing::spill(
            place_ / "job.yaml",
            "name: from the shell\nmodel: model.yaml\ndataset: text.txt\nrounds: 3\nslots: 2\n"
            "steps_per_round: 4\nprice_per_pflop: 2\nbudget: 40\n" +
                extra);
    }
    /// The key of address_of(last) in the data directory, and the network that it signs for.
    void hold_key(std::uint8_t last) {
        const auto keystore = place_ / ".gym/key.json";
        std::filesystem::remove(keystore);
        ASSERT_TRUE(crypto::save_keystore(keystore, signing_key(last),
                                          crypto::SecretBytes(std::string_view("pass")),
                                          crypto::ScryptCost::light())
                        .ok());
        ::setenv("GYM_PASSPHRASE", "pass", 1);
        contracts::Deployment deployment;
        deployment.chain_id = kNetwork.chain_id;
        deployment.escrow = kNetwork.escrow;
        ASSERT_TRUE(contracts::save_deployment(place_ / "deployment.json", deployment).ok());
        ::setenv("GYM_DEPLOYMENT", (place_ / "deployment.json").c_str(), 1);
    }
    /// As if this machine had measured itself.
    void note_speed(std::uint64_t flops_per_second) {
        std::filesystem::create_directories(place_ / ".gym");
        gym::testing::spill(place_ / ".gym/speed.json",
                            boost::json::serialize(boost::json::object{
                                {"flops_per_second", flops_per_second},
                                {"measured_at_ms", SystemClock().now_ms()},
                                {"cores", std::max(1U, std::thread::hardware_concurrency())}}));
    }
    /// gym-rewards decides what was ordered.
    gym::testing::Outcome gym(std::vector<std::string> arguments) {
        auto outcome = gym::testing::run(place_, std::move(arguments));
        take_orders();
        return outcome;
    }
    std::string job_file() const { return (place_ / "job.yaml").string(); }
    static boost::json::object parse_line(const std::string& text) {
        return boost::json::parse(text.substr(0, text.find('\n'))).as_object();
    }

    gym::testing::TemporaryFolder place_;
    std::optional<PostgresBackend> storage_;
    std::optional<PostgresUploads> uploads_;
    std::optional<PostgresMixes> mixes_;
    std::optional<Api> api_;
    std::unique_ptr<http_server::Server> server_;
};

}  // namespace gym::api::testing
