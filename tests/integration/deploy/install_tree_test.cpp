// `cmake --install` into an empty prefix, then docs/DEPLOY.md from there: database, keys,
// contracts, services over TLS, a job that is trained, checked and paid, a backup that can be read
// again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <thread>

#include "gym/common/file.hpp"
#include "gym/db/database.hpp"
#include "installed_network.hpp"
#include "postgres.hpp"

namespace gym::testing {
namespace {

namespace json = boost::json;

chain::AnvilOptions quick_blocks() {
    chain::AnvilOptions options;
    options.block_time_ms = 100;
    return options;
}

db::ConnectionConfig new_database() {
    return postgres().superuser("installed");
}

const char* const kJob =
    "name: first\ndataset: text.txt\nrounds: 1\nslots: 1\nsteps_per_round: 2\n"
    "price_per_pflop: \"1000\"\nbudget: \"5\"\nevaluate_windows: 1\n"
    "deadlines:\n  unit_ms: 60000\n  report_ms: 60000\n  reveal_ms: 20000\n  challenge_ms: 500\n"
    "model:\n  batch: 1\n  model:\n    vocabulary: 256\n    context: 16\n    layers: 1\n"
    "    heads: 2\n    width: 16\n";

std::string text_at(const json::value& object, const char* key) {
    return std::string(object.at(key).as_string());
}

class InstallTree : public ::testing::Test {
  protected:
    void write(const std::string& name, const std::string& text) {
        ASSERT_TRUE(write_file_atomic(network_.path(name), as_bytes(text)).ok());
    }
    json::value gym_as(const std::string& holder, std::vector<std::string> command) {
        const auto flags = network_.key_flags(holder);
        command.insert(command.end(), flags.begin(), flags.end());
        return network_.gym(std::move(command));
    }
    /// Asks every 200 ms, for a minute.
    template <class F>
    bool eventually(F&& holds) {
        for (int i = 0; i < 300 && !HasFatalFailure(); ++i) {
            if (holds()) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
        }
        return false;
    }
    std::string logs() {
        std::string out;
        for (const char* name : {"coordinator", "rewards", "api", "worker", "verifier"})
            out += std::string("--- ") + name + "\n" + network_.log_of(name);
        return out;
    }
    void set_up_network() {
        network_.install();
        network_.bootstrap_database();
        network_.make_keys();
        network_.make_certificate();
        network_.deploy_contracts();
        network_.write_configs();
    }
    void start_nodes() {
        network_.gym({"node", "register", "--config", network_.path("etc/worker.yaml")});
        network_.start("worker", {"gym", "node", "start", "--config",
                                  network_.path("etc/worker.yaml").string()});
        network_.start("verifier",
                       {"gym-verifier", "--config", network_.path("etc/verifier.yaml").string()});
    }
    std::string submit_job() {
        const std::string owner = network_.address_of("owner").hex();
        gym_as("owner", {"wallet", "deposit", "100"});  // returns when jobs can use it
        const std::string key =
            network_.run({"gym-api", "--config", network_.path("etc/api.yaml").string(), "keys",
                          "create", "--owner", owner});
        EXPECT_TRUE(write_file_atomic(network_.path("api-key"), as_bytes(key + "\n"), 0600).ok());
        write("text.txt", std::string(4'000, 'a'));
        write("job.yaml", kJob);
        return text_at(
            gym_as("owner", {"job", "submit", network_.path("job.yaml").string(), "--api-key-file",
                             network_.path("api-key").string(), "--licence", "CC0-1.0"}),
            "id");
    }

    TestAnvil anvil_{quick_blocks()};
    InstalledNetwork network_{anvil_, new_database()};
};

TEST_F(InstallTree, RunsANetworkThatTrainsChecksAndPays) {
    set_up_network();
    ASSERT_FALSE(HasFailure());
    network_.start_services();
    ASSERT_FALSE(HasFatalFailure()) << logs();
    start_nodes();
    const std::string job = submit_job();
    ASSERT_FALSE(HasFailure()) << logs();
    EXPECT_TRUE(eventually([&] {
        return text_at(network_.gym({"job", "status", job}), "status") == "completed";
    })) << logs();

    const std::string worker = network_.address_of("worker").hex();
    EXPECT_TRUE(eventually([&] {
        const auto account = network_.gym({"rewards", "show", "--address", worker});
        return text_at(account, "payable_wei") != "0";
    })) << logs();
    EXPECT_TRUE(eventually([&] {
        return run_command({.argv = {"curl", "-fsS",
                                     network_.api_url() + "/v1/rewards/" + worker + "/proof"}},
                           10'000)
            .ok();
    })) << logs();
    const auto paid = gym_as("worker", {"rewards", "claim"});
    EXPECT_NE(text_at(paid, "paid_wei"), "0");

    const auto audited = network_.gym({"rewards", "audit", "1"});
    EXPECT_TRUE(audited.at("deviations").as_array().empty());
    EXPECT_GT(audited.at("credits").to_number<int>(), 0);

    const std::string metrics = network_.run({"curl", "-fsS", network_.api_url() + "/metrics"});
    EXPECT_NE(metrics.find("gym_books_equal 1"), std::string::npos) << metrics;
    EXPECT_NE(metrics.find("gym_payout_epoch "), std::string::npos);

    network_.script("backup.sh", {network_.path("backup").string(), network_.path("var").string()});
    network_.run({"sh", "-c",
                  "createdb restored && pg_restore --exit-on-error -d restored \"$(ls " +
                      network_.path("backup").string() + "/*.dump)\""});
    const auto restored = db::Database::open(postgres().superuser("restored"), 1);
    ASSERT_TRUE(restored.ok());
    const auto jobs = (*restored)->transact([](db::Transaction& tx) {
        return tx.exec_one("SELECT count(*) AS n, min(status) AS status FROM registry.job");
    });
    ASSERT_TRUE(jobs.ok()) << jobs.error().message;
    EXPECT_EQ(jobs->get<std::int64_t>("n"), 1);
    EXPECT_EQ(jobs->get<std::string>("status"), "completed");
    const auto audits = (*restored)->transact([](db::Transaction& tx) {
        return tx.exec_one(
            "SELECT count(*) FILTER (WHERE audit = 'passed') AS passed, "
            "count(*) FILTER (WHERE audit <> 'passed') AS other FROM registry.report");
    });
    ASSERT_TRUE(audits.ok()) << audits.error().message;
    EXPECT_GT(audits->get<std::int64_t>("passed"), 0) << "the coordinator got the verifier's trace";
    EXPECT_EQ(audits->get<std::int64_t>("other"), 0);
    EXPECT_FALSE(std::filesystem::is_empty(network_.path("backup/blobs")));
    // Anyone with the public files recomputes the root, and sees an altered one.
    const std::string files = network_.path("backup/epochs").string();
    EXPECT_TRUE(
        network_.gym({"rewards", "audit", "--files", files}).at("deviations").as_array().empty());
    EXPECT_TRUE(std::filesystem::exists(network_.path("backup/epochs/epoch-1.json")));
    const Bytes bytes = read_file(network_.path("backup/epochs/epoch-1.json")).value();
    std::string text(bytes.begin(), bytes.end());
    char& digit = text.at(text.find("\"amount\":\"") + 10);
    digit = digit == '1' ? '2' : '1';
    write("backup/epochs/epoch-1.json", text);
    network_.run({"sh", "-c", "gym rewards audit 1 --files " + files + "; test $? -eq 3"});
    for (const char* name : {"worker", "verifier", "coordinator", "rewards", "api"})
        network_.stop(name);
}

TEST_F(InstallTree, EveryStepOfTheSetUpCanBeRepeated) {
    set_up_network();
    ASSERT_FALSE(HasFailure());
    const auto bytes = read_file(network_.path("etc/secrets/db-api")).value();
    network_.bootstrap_database();
    EXPECT_EQ(read_file(network_.path("etc/secrets/db-api")).value(), bytes);
    const auto first = read_file(network_.path("etc/deployment.json")).value();
    EXPECT_EQ(network_.deploy_contracts(), std::string(first.begin(), first.end()));
    const auto migrated = network_.gym({"operator", "migrate"});
    EXPECT_TRUE(migrated.at("applied").as_array().empty());
    EXPECT_GT(migrated.at("already_applied").to_number<int>(), 3);
}

TEST_F(InstallTree, UnitsAndUsersAreValidAndTheUnitsAreLockedUp) {
    ASSERT_TRUE(run_command({.argv = {"systemd-analyze", "--version"}}, 10'000).ok())
        << "systemd-analyze is missing: `make setup` installs Debian's package systemd";
    network_.install();
    const std::filesystem::path units = network_.prefix() / "lib/systemd/system";
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(units)) {
        ++count;
        const std::string unit = entry.path().string();
        const auto checked = run_command(
            {.argv = {"systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit}},
            60'000);
        EXPECT_TRUE(checked.ok()) << checked.error().message;
        EXPECT_EQ(checked.value_or(""), "") << unit;
        // 0: locked up, 100: unsafe. Without the settings of common.conf.in: above 90.
        const auto exposure = run_command({.argv = {"systemd-analyze", "security", "--offline=yes",
                                                    "--no-pager", "--threshold=20", unit}},
                                          60'000);
        EXPECT_TRUE(exposure.ok()) << exposure.error().message;
        // It implies DeviceAllow=char-rtc up to systemd 252, which hides a GPU from a node whose
        // drop-in has PrivateDevices=no. Without capabilities nobody sets the clock anyway.
        const auto text = read_file(entry.path());
        ASSERT_TRUE(text.ok());
        EXPECT_EQ(std::string(text->begin(), text->end()).find("ProtectClock"), std::string::npos)
            << unit;
    }
    EXPECT_EQ(count, 7U);
    const std::filesystem::path root = network_.path("root");
    for (const char* folder : {"etc", "usr/lib/sysusers.d", "usr/lib/tmpfiles.d"})
        std::filesystem::create_directories(root / folder);
    for (const char* kind : {"sysusers.d", "tmpfiles.d"})
        std::filesystem::copy(network_.prefix() / "lib" / kind / "gym.conf",
                              root / "usr/lib" / kind / "gym.conf");
    network_.run({"systemd-sysusers", "--root=" + root.string()});
    const Bytes users = read_file(root / "etc/passwd").value_or({});
    for (const char* user : {"gym-coordinator:", "gym-rewards:", "gym-api:", "gym-worker:"})
        EXPECT_NE(std::string(users.begin(), users.end()).find(user), std::string::npos) << user;
    if (::getuid() != 0) return;  // owners can only be set by root
    network_.run({"systemd-tmpfiles", "--create", "--root=" + root.string()});
    const auto blobs = std::filesystem::status(root / "var/lib/gym/blobs").permissions();
    EXPECT_EQ(blobs & std::filesystem::perms::mask, std::filesystem::perms(02770));
    const auto secrets = std::filesystem::status(root / "etc/gym/secrets").permissions();
    EXPECT_EQ(secrets & std::filesystem::perms::mask, std::filesystem::perms(0700));
}

}  // namespace
}  // namespace gym::testing
