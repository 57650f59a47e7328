// One manager for the threads of a program that send with one key.
#include <mutex>
#include <thread>

#include "tx_fixture.hpp"

namespace gym::chain {
namespace {

TEST(TxThreadsTest, TheTicksOfTwoThreadsDoNotOverlap) {
    constexpr int kTicks = 8;
    TxWorld world;
    std::mutex mutex;
    std::vector<std::thread::id> calls;
    world.chain.fault = [&](const char* /*method*/) -> std::optional<Error> {
        {
            const std::lock_guard lock(mutex);
            calls.push_back(std::this_thread::get_id());
        }
        std::this_thread::yield();
        return std::nullopt;
    };
    const auto manager = world.manager();
    const auto work = [&](const std::string& name) {
        for (int i = 0; i < kTicks; ++i) {
            EXPECT_TRUE(manager->submit(payment(name + std::to_string(i))).ok());
            EXPECT_TRUE(manager->tick().ok());
        }
    };
    std::thread other([&] { work("a"); });
    work("b");
    other.join();
    int changes = 0;
    for (std::size_t i = 1; i < calls.size(); ++i)
        changes += calls[i] == calls[i - 1] ? 0 : 1;
    EXPECT_LT(changes, 2 * kTicks) << "of " << calls.size() << " calls";
    world.chain.mine();
    for (int i = 0; i < kTicks; ++i)
        for (const char* name : {"a", "b"})
            EXPECT_EQ(times_executed(world.chain, payment(name + std::to_string(i))), 1U);
}

}  // namespace
}  // namespace gym::chain
