// A process that dies at any point between its effects, and a new one over the same store.

#include <algorithm>
#include <random>

#include "random_seed.hpp"
#include "tx_fixture.hpp"

namespace gym::chain {
namespace {

struct Killed {};

/// Counts the places where a process can die and dies at a chosen one.
class KillSwitch {
  public:
    void arm(std::uint64_t passes) { left_ = passes; }
    void disarm() { left_.reset(); }
    [[nodiscard]] bool armed() const { return left_.has_value(); }
    void pass() {
        if (!left_) return;
        if ((*left_)-- > 0) return;
        left_.reset();
        throw Killed{};
    }

  private:
    std::optional<std::uint64_t> left_;
};

/// A store that can die before and after every durable step.
class DyingStore final : public IntentStore {
  public:
    DyingStore(IntentStore& inner, KillSwitch& kill) : inner_(inner), kill_(kill) {}

    Result<Intent> submit(const IntentRequest& request, UnixMs now_ms) override {
        return around([&] { return inner_.submit(request, now_ms); });
    }
    Result<Intent> find(const std::string& id) override { return inner_.find(id); }
    Result<std::vector<Intent>> open(std::uint32_t limit) override { return inner_.open(limit); }
    Result<std::optional<std::uint64_t>> highest_nonce() override { return inner_.highest_nonce(); }
    Result<std::optional<std::uint64_t>> highest_settled_nonce() override {
        return inner_.highest_settled_nonce();
    }
    Status assign(const std::string& id, std::uint64_t nonce, std::uint64_t gas_limit,
                  const Attempt& first) override {
        return around([&] { return inner_.assign(id, nonce, gas_limit, first); });
    }
    Status add_attempt(const std::string& id, std::size_t expected,
                       const Attempt& attempt) override {
        return around([&] { return inner_.add_attempt(id, expected, attempt); });
    }
    Status request_cancel(const std::string& id) override {
        return around([&] { return inner_.request_cancel(id); });
    }
    Status settle(const std::string& id, const Outcome& outcome, UnixMs now_ms) override {
        return around([&] { return inner_.settle(id, outcome, now_ms); });
    }

  private:
    template <class F>
    std::invoke_result_t<F&> around(F&& step) {
        kill_.pass();
        auto out = step();
        kill_.pass();
        return out;
    }
    IntentStore& inner_;
    KillSwitch& kill_;
};

class KillTest : public ::testing::Test {
  protected:
    struct Run {
        TxWorld world;
        KillSwitch kill;
        DyingStore store{*world.store, kill};
        std::unique_ptr<TxManager> manager = world.manager(sim_policy(), &store);
        std::uint64_t deaths = 0;

        Run() {
            world.chain.fault = [this](const char*) -> std::optional<Error> {
                kill.pass();
                return std::nullopt;
            };
            world.chain.after_send = [this] { kill.pass(); };
        }
        template <class F>
        void alive(F&& work) {
            try {
                work();
            } catch (const Killed&) {
                ++deaths;
                manager = world.manager(sim_policy(), &store);
            }
        }
    };

    static void expect_contiguous_nonces(const TxWorld& world) {
        std::vector<std::uint64_t> nonces;
        for (const auto& done : world.chain.executed())
            nonces.push_back(done.recovered.transaction.nonce);
        for (std::size_t i = 0; i < nonces.size(); ++i)
            EXPECT_EQ(nonces[i], i);
        const auto highest = world.store->highest_nonce().value();
        EXPECT_EQ(highest ? *highest + 1 : 0, nonces.size()) << "every owned nonce is on chain";
    }
};

TEST_F(KillTest, DyingAtAnyPointNeverPaysTwiceNorLosesAPayment) {
    const std::vector<IntentRequest> requests{payment("a"), payment("b"), payment("c")};
    bool died = true;
    std::uint64_t points = 0;
    for (; died; ++points) {
        Run run;
        run.kill.arm(points);
        bool all_done = false;
        for (int round = 0; round < 60 && !all_done; ++round) {
            run.alive([&] {  // what a service does: repeat its causes, then tick
                for (const IntentRequest& request : requests) {
                    const auto submitted = run.manager->submit(request);
                    EXPECT_TRUE(submitted.ok());
                }
                const auto report = run.manager->tick();
                EXPECT_TRUE(report.ok()) << report.error().message;
            });
            if (round == 0)
                run.world.chain.set_base_fee(Amount(4'000'000'000));  // forces a replacement
            run.world.clock.advance_ms(400);
            run.world.chain.mine();
            all_done = std::all_of(requests.begin(), requests.end(), [&](const auto& request) {
                const auto found = run.world.store->find(request.id);
                return found.ok() && found->state == IntentState::kDone;
            });
        }
        died = run.deaths > 0;
        run.kill.disarm();
        ASSERT_TRUE(all_done) << "killed at point " << points;
        for (const IntentRequest& request : requests)
            ASSERT_EQ(times_executed(run.world.chain, request), 1U)
                << request.id << ", killed at point " << points;
        expect_contiguous_nonces(run.world);
    }
    EXPECT_GT(points, 60U) << "the scenario has that many places to die at";
}

/// One random life: deaths, reorgs, forgotten pools, failing nodes, fee spikes, cancellations.
void random_history(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    TxWorld world;
    KillSwitch kill;
    DyingStore store(*world.store, kill);
    auto manager = world.manager(sim_policy(), &store);
    std::vector<IntentRequest> requests;
    bool node_down = false;
    world.chain.fault = [&](const char*) -> std::optional<Error> {
        kill.pass();
        if (node_down && random() % 3 == 0) return fail(ErrorCode::kUnavailable, "node down");
        return std::nullopt;
    };
    world.chain.after_send = [&] { kill.pass(); };
    const auto live = [&] {
        try {
            for (const IntentRequest& request : requests)
                (void)manager->submit(request);
            (void)manager->tick();
        } catch (const Killed&) {
            manager = world.manager(sim_policy(), &store);
        }
    };
    for (int step = 0; step < 120; ++step) {
        if (random() % 6 == 0 && requests.size() < 12) {
            requests.push_back(payment("p" + std::to_string(requests.size())));
            if (random() % 8 == 0)
                requests.back().data.insert(requests.back().data.begin(), SimChain::kFailsLate);
        }
        if (random() % 4 == 0) kill.arm(random() % 40);
        if (random() % 10 == 0) node_down = !node_down;
        if (random() % 12 == 0 && world.chain.head() > SimChain::kFinalityDepth)
            world.chain.reorg(1 + static_cast<std::uint32_t>(random() % 5), random() % 2 == 0);
        if (random() % 15 == 0) world.chain.drop_pool();
        if (random() % 10 == 0)
            world.chain.set_base_fee(Amount(1'000'000'000 * (1 + random() % 12)));
        if (random() % 20 == 0 && !requests.empty())
            (void)world.store->request_cancel(requests[random() % requests.size()].id);
        world.clock.advance_ms(static_cast<std::int64_t>(random() % 700));
        live();
        if (random() % 2 == 0) world.chain.mine();
    }
    kill.disarm();
    node_down = false;
    world.chain.set_base_fee(Amount(1'000'000'000));
    for (int i = 0; i < 60; ++i) {
        world.clock.advance_ms(400);
        live();
        world.chain.mine();
    }
    for (const IntentRequest& request : requests) {
        const Intent intent = world.store->find(request.id).value();
        const std::size_t expected = intent.state == IntentState::kDone ? 1 : 0;
        EXPECT_TRUE(intent.state == IntentState::kDone || intent.state == IntentState::kCancelled ||
                    intent.state == IntentState::kReverted)
            << request.id << " is " << to_string(intent.state) << ", seed " << seed;
        EXPECT_EQ(times_executed(world.chain, request), expected)
            << request.id << ", seed " << seed;
    }
    std::uint64_t next = 0;
    for (const auto& done : world.chain.executed())
        EXPECT_EQ(done.recovered.transaction.nonce, next++) << "seed " << seed;
    const auto highest = world.store->highest_nonce().value();
    EXPECT_EQ(highest ? *highest + 1 : 0, next) << "seed " << seed;
}

TEST_F(KillTest, RandomHistoriesPayExactlyWhatTheStoreSays) {
    const std::uint64_t seed = testing::random_seed();
    for (std::uint64_t i = 0; i < testing::test_count(25) && !HasFailure(); ++i)
        random_history(seed + i);
}

}  // namespace
}  // namespace gym::chain
