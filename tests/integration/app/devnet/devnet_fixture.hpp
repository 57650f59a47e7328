#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <thread>

#include "gym/chain/private_chain.hpp"
#include "gym/common/file.hpp"
#include "gym/db/private_cluster.hpp"
#include "gym/devnet/demo.hpp"
#include "gym/devnet/infrastructure.hpp"
#include "gym/devnet/progress.hpp"
#include "gym/registry/jobs.hpp"

namespace gym::devnet::testing {

using std::chrono::milliseconds;

inline constexpr milliseconds kPoll{50};

/// The rest of a job file: a model that learns in seconds, deadlines that leave room for a restart.
/// They fit the window of 90 s.
inline constexpr const char* kTinyModel = R"(deadlines:
  unit_ms: 60000
  report_ms: 30000
  reveal_ms: 20000
  defence_ms: 2000
  challenge_ms: 1000
sampling:
  draws_max: 1
model:
  batch: 4
  model:
    vocabulary: 256
    context: 64
    layers: 2
    heads: 3
    width: 48
    init_std: 0.05
  optimizer:
    learning_rate: 4.0e-3
    warmup_steps: 5
    total_steps: 60
  outer:
    learning_rate: 0.7
    momentum: 0.9
)";

inline std::string counting_text() {
    std::string text;
    // Every line is new, and the end is like the beginning: it is what the text is measured with.
    for (int line = 0; text.size() < 200'000; ++line) {
        const int n = line * 7919 % 100'000;
        text += std::to_string(n) + " and then comes " + std::to_string(n + 1) + ".\n";
    }
    return text;
}

/// A whole network of real processes with a job, whose parts a test kills.
class DevnetTest : public ::testing::Test {
  protected:
    void SetUp() override {
        const char* build = std::getenv("GYM_BINARY_DIR");
        const char* source = std::getenv("GYM_SOURCE_DIR");
        ASSERT_TRUE(build != nullptr && source != nullptr) << "run through ctest";
        std::string name = (std::filesystem::temp_directory_path() / "gym-devnet-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
        options_.network.root = folder_ / "network";
        options_.network.workers = 2;
        options_.network.dispute_window_s = 90;
        options_.network.programs.folder = std::filesystem::path(build) / "bin";
        options_.network.migrations = std::filesystem::path(source) / "sql" / "migrations";
        options_.text = folder_ / "text.txt";
        options_.job_file = folder_ / "job.yaml";
        options_.timeout_s = 240;
        ASSERT_TRUE(write_file_atomic(options_.text, as_bytes(counting_text())).ok());
        ASSERT_TRUE(write_file_atomic(options_.job_file, as_bytes(job_text())).ok());
        prepare(options_);
        auto layout = network_up(options_.network, [](const std::string&) {});
        ASSERT_TRUE(layout.ok()) << layout.error().message;
        layout_ = *layout;
    }
    [[nodiscard]] virtual std::string job_text() const = 0;
    /// The differences of this test's network.
    virtual void prepare(DemoOptions& /*options*/) {}
    void TearDown() override {
        if (HasFailure()) {
            std::cout << "the network's logs are kept: " << layout_.logs() << std::endl;
            (void)stop_all(layout_);
            return;
        }
        EXPECT_TRUE(network_down(options_.network.root).ok());
        std::filesystem::remove_all(folder_);
    }

    [[nodiscard]] db::PrivateCluster cluster() const {
        return db::PrivateCluster::prepare(
                   {.folder = layout_.postgres, .durability = db::Durability::kProcessCrash})
            .value();
    }
    [[nodiscard]] std::unique_ptr<db::Database> database() const {
        return db::Database::open(cluster().superuser(kDatabase)).value();
    }

    /// Returns when the job is in round `round` and the round's state is `state`, or was: a fault
    /// that comes late is a fault all the same. False if the job ends before.
    bool wait_for(std::uint64_t round, const std::string& state) {
        const auto database = this->database();
        while (demo_.wait_for(kPoll) != std::future_status::ready) {
            const auto jobs =
                database->transact([](db::Transaction& tx) { return registry::list_jobs(tx, {}); },
                                   {.read_only = true});
            if (!jobs.ok() || jobs->empty()) continue;
            const auto progress =
                read_progress(*database, jobs->front().id, SystemClock().now_ms());
            if (!progress.ok()) continue;
            const std::uint64_t now = progress->rounds_done + 1;
            if (now > round || (now == round && progress->round_state == state)) return true;
        }
        return false;
    }

    /// No part ends but by this test's hand, and each has come back from the faults before.
    void expect_all_running() {
        const auto entries = ProcessTable(layout_.run()).list();
        ASSERT_TRUE(entries.ok()) << entries.error().message;
        for (const ProcessEntry& entry : *entries)
            EXPECT_TRUE(entry.running) << entry.name << " has ended, see its log";
    }

    void kill(const std::string& name) {
        const auto entry = ProcessTable(layout_.run()).find(name);
        ASSERT_TRUE(entry.ok() && entry->running) << name;
        ASSERT_EQ(::kill(entry->pid, SIGKILL), 0);
        while (ProcessTable(layout_.run()).find(name)->running)
            std::this_thread::sleep_for(kPoll);
    }
    void restart_service(const std::string& name) {
        kill(name);
        std::this_thread::sleep_for(milliseconds(500));
        ProcessTable processes(layout_.run());
        const Status started = start_services(layout_, processes, options_.network.programs);
        ASSERT_TRUE(started.ok()) << started.error().message;
    }
    void restart_worker(const std::string& name) {
        kill(name);
        // network_up() starts what does not run.
        const auto up = network_up(options_.network, [](const std::string&) {});
        ASSERT_TRUE(up.ok()) << up.error().message;
    }
    void restart_verifier() {
        kill(kVerifier);
        ProcessTable processes(layout_.run());
        const Status started = start_verifier(layout_, processes, options_.network.programs);
        ASSERT_TRUE(started.ok()) << started.error().message;
    }
    void restart_database() {
        auto server = cluster();
        ASSERT_TRUE(server.stop(db::StopMode::kImmediate).ok());
        std::this_thread::sleep_for(milliseconds(1'500));
        const Status started = server.start();
        ASSERT_TRUE(started.ok()) << started.error().message;
    }
    /// What it had when it was last stopped is there again.
    [[nodiscard]] Result<chain::PrivateAnvil> start_chain_again() {
        GYM_TRY(auto anvil, chain::PrivateAnvil::start(layout_.anvil(), {.port = layout_.chain_port,
                                                                         .block_time_ms = 500,
                                                                         .persist = true,
                                                                         .detached = true}));
        GYM_CHECK(ProcessTable(layout_.run()).adopt("anvil", anvil.pid()));
        return anvil;
    }
    void restart_chain() {
        ASSERT_TRUE(ProcessTable(layout_.run()).stop("anvil").ok());
        std::this_thread::sleep_for(milliseconds(2'500));
        const auto anvil = start_chain_again();
        ASSERT_TRUE(anvil.ok()) << anvil.error().message;
    }

    std::filesystem::path folder_;
    DemoOptions options_;
    Layout layout_;
    std::future<Result<Report>> demo_;
};

}  // namespace gym::devnet::testing
