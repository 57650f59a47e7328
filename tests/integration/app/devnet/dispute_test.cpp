// A cheat's game between real processes, both of which are killed again and again while they play.

#include "devnet_fixture.hpp"
#include "gym/chain/client.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/game/state.hpp"
#include "gym/player/game_log.hpp"

namespace gym::devnet {
namespace {

constexpr const char* kJob = R"(name: dispute
dataset: DATASET
rounds: 2
slots: 2
workers_min: 1
steps_per_round: 10
checkpoint_every: 4
evaluate_windows: 4
price_per_pflop: "10"
budget: "100"
max_data_price: "0.1"
)";

class DisputeOnDevnet : public testing::DevnetTest {
  protected:
    static constexpr const char* kCheat = "worker-2";

    [[nodiscard]] std::string job_text() const override {
        return std::string(kJob) + testing::kTinyModel;
    }
    void prepare(DemoOptions& options) override {
        options.network.cheating_worker = options.network.programs.path("gym-faulty-worker");
        options.network.fault_step = 5;
        options.network.dispute_clock_s = 45;
    }

    /// Moves so far in the game about the cheat's unit; absent before there is one.
    std::optional<std::uint32_t> moves_played(chain::ChainClient& client,
                                              const contracts::DisputeGame& contract) {
        const auto head = client.block(chain::BlockTag::kLatest);
        if (!head.ok() || !*head) return std::nullopt;
        const auto logs =
            chain::find_all_logs(client, {contract.address(), {}, 0, (*head)->number});
        if (!logs.ok()) return std::nullopt;
        for (const chain::Log& log : *logs) {
            const auto event = contract.parse_event(log);
            const auto* opened =
                event.ok() && *event ? std::get_if<contracts::Opened>(&**event) : nullptr;
            if (opened == nullptr) continue;
            const auto game = contract.game_of(client, opened->game);
            if (game.ok()) return game::is_open(game->status) ? game->moves : 100;
        }
        return std::nullopt;
    }
};

TEST_F(DisputeOnDevnet, BothPlayersAreKilledAndTheCheatLosesByAProof) {
    demo_ = std::async(std::launch::async,
                       [&] { return run_demo(options_, [](const std::string&) {}); });
    const auto deployment = contracts::load_deployment(layout_.deployment());
    ASSERT_TRUE(deployment.ok());
    const auto client = chain::make_http_client(layout_.chain_url()).value();
    const contracts::DisputeGame contract(deployment->dispute_game);
    std::uint32_t kills = 0;
    for (std::uint32_t next = 1;
         next < 12 && demo_.wait_for(testing::kPoll) != std::future_status::ready;) {
        const auto moves = moves_played(*client, contract);
        if (!moves || *moves < next) continue;
        if (*moves == 100) break;
        // Whoever is on turn, and the one who has just moved: in the middle of whatever it does.
        if (kills++ % 2 == 0)
            restart_verifier();
        else
            restart_worker(kCheat);
        next = *moves + 2;
    }
    EXPECT_GE(kills, 4U);
    const auto report = demo_.get();
    ASSERT_TRUE(report.ok()) << report.error().message;
    options_.expected = {.final_loss_max = 6.0, .with_cheater = true};
    const auto failed = failed_checks(*report, options_.expected);
    EXPECT_TRUE(failed.empty()) << to_json(*report, failed);
    ASSERT_TRUE(report->dispute);
    EXPECT_NE(report->dispute->claimed, report->dispute->computed);
    std::cout << to_text(*report) << kills << " kills" << std::endl;
}

}  // namespace
}  // namespace gym::devnet
