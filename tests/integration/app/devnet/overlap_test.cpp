// A job whose rounds overlap, with real processes: gym-verifier has its own view of the chain, and
// compares with it what it is shown. It finds nothing where the coordinator is right, and reports
// one that leaves out the delta of an accepted unit.
#include <cstdlib>

#include "devnet_fixture.hpp"
#include "gym/registry/rounds.hpp"

namespace gym::devnet {
namespace {

constexpr const char* kJob = R"(name: overlap
dataset: DATASET
rounds: 4
slots: 2
workers_min: 2
steps_per_round: 10
checkpoint_every: 5
evaluate_windows: 8
price_per_pflop: "10"
budget: "100"
max_data_price: "0.1"
delta_norm_max: 1000000
elastic:
  overlap: 1
)";
constexpr std::uint64_t kRounds = 4;
constexpr const char* kContradicts = "the coordinator contradicts itself or the chain: ";

class OverlapOnDevnet : public testing::DevnetTest {
  protected:
    [[nodiscard]] std::string job_text() const override {
        std::string text = std::string(kJob) + testing::kTinyModel;
        const std::string usual = "learning_rate: 0.7\n    momentum: 0.9\n";
        const std::size_t at = text.find(usual);
        EXPECT_NE(at, std::string::npos);
        return text.replace(at, usual.size(), "learning_rate: 0.4\n    momentum: 0.5\n");
    }
    std::int64_t count(const std::string& units) {
        const auto row = database()->transact(
            [&](db::Transaction& tx) {
                return tx.exec_one("SELECT count(*) AS n FROM registry.unit WHERE " + units);
            },
            {.read_only = true});
        return row.ok() ? row->get<std::int64_t>("n") : -1;
    }
    std::string verifier_log() const {
        const auto bytes = read_file(layout_.logs() / "verifier.log", 64 << 20);
        return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : std::string();
    }
    void run() {
        const auto report = run_demo(options_, [](const std::string&) {});
        ASSERT_TRUE(report.ok()) << report.error().message;
        options_.expected = {.final_loss_max = 5.4, .with_cheater = false};
        const auto failed = failed_checks(*report, options_.expected);
        EXPECT_TRUE(failed.empty()) << to_json(*report, failed);
        EXPECT_EQ(report->rounds, kRounds);
        EXPECT_EQ(count("kind = 'train' AND state = 'final'"), 2 * std::int64_t{kRounds});
        EXPECT_EQ(count("kind = 'aggregate' AND state = 'final'"), std::int64_t{kRounds});
        EXPECT_EQ(count("kind = 'aggregate' AND round = 1"), 0);
        const std::string log = verifier_log();
        EXPECT_NE(log.find("round, root, beacon and draw are the chain's"), std::string::npos);
        EXPECT_EQ(log.find(" differs "), std::string::npos);
        EXPECT_EQ(log.find(" challenged "), std::string::npos);
    }
};

TEST_F(OverlapOnDevnet, AVerifierThatWatchesTheChainFindsNothing) {
    ASSERT_NO_FATAL_FAILURE(run());
    EXPECT_EQ(verifier_log().find(kContradicts), std::string::npos);
    EXPECT_EQ(count("kind = 'train' AND included"), 2 * std::int64_t{kRounds});
    const auto rounds = database()->transact(
        [](db::Transaction& tx) -> Result<std::vector<registry::Round>> {
            GYM_TRY(const auto jobs, registry::list_jobs(tx, {}));
            return registry::list_rounds(tx, jobs.at(0).id);
        },
        {.read_only = true});
    ASSERT_TRUE(rounds.ok());
    ASSERT_EQ(rounds->size(), kRounds + 1);
    EXPECT_TRUE(rounds->back().record.slots.empty());
    EXPECT_EQ((*rounds)[1].base, (*rounds)[0].base) << "no deltas are there yet";
    for (std::size_t i = 2; i < rounds->size(); ++i) {
        const registry::Round& round = (*rounds)[i];
        EXPECT_EQ(round.base, *(*rounds)[i - 1].next_base);
        EXPECT_EQ(round.record.included.size(), 2U);
        EXPECT_EQ(protocol::held_of(round.record.included), 2U) << "of the round before";
    }
}

class LeavesOutOnDevnet : public OverlapOnDevnet {
  protected:
    void prepare(DemoOptions& options) override {
        ASSERT_EQ(::setenv("GYM_FAULT", "leaves-out", 1), 0);  // its processes inherit it
        options.network.programs.instead = {{"gym-coordinator", "gym-faulty-coordinator"}};
    }
    void TearDown() override {
        ::unsetenv("GYM_FAULT");
        OverlapOnDevnet::TearDown();
    }
};

TEST_F(LeavesOutOnDevnet, AVerifierThatWatchesTheChainReportsIt) {
    ASSERT_NO_FATAL_FAILURE(run());
    EXPECT_EQ(count("kind = 'train' AND included"), 2 * std::int64_t{kRounds} - 1);
    EXPECT_EQ(count("kind = 'train' AND round = 1 AND NOT included"), 1);
    const std::string log = verifier_log();
    const std::size_t at = log.find(kContradicts);
    ASSERT_NE(at, std::string::npos);
    const std::string sentence = log.substr(at, log.find('\n', at) - at);
    EXPECT_NE(sentence.find(" of round 1 is accepted, and the aggregate is without its delta "),
              std::string::npos)
        << sentence;
    EXPECT_NE(sentence.find(" for no reason"), std::string::npos) << sentence;
    EXPECT_EQ(log.find(kContradicts, at + 1), std::string::npos) << "told once, and nothing else";
}

}  // namespace
}  // namespace gym::devnet
