#include "group_commit.hpp"

#include <thread>

#include "ledger_fixture.hpp"

namespace gym::ledger {
namespace {

TEST_F(LedgerTest, GroupCommitBooksWhatManyThreadsSubmit) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    fund(a, 1'000);
    {
        GroupCommit queue(*database_, clock_);
        std::vector<std::jthread> threads;
        std::atomic<int> created = 0;
        for (int thread = 0; thread < 4; ++thread) {
            threads.emplace_back([&, thread] {
                for (int i = 0; i < 50; ++i) {
                    auto future = queue.submit(
                        {move(std::to_string(thread) + ":" + std::to_string(i), a, b, 1)});
                    const auto outcome = future.get();
                    if (outcome.ok() && outcome->at(0) == kCreated) ++created;
                }
            });
        }
        threads.clear();
        EXPECT_EQ(created, 200);
    }
    EXPECT_EQ(spendable(b), Amount(200));
}

TEST_F(LedgerTest, GroupCommitFinishesItsQueueBeforeItEnds) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    fund(a, 100);
    std::vector<std::future<GroupCommit::Outcome>> futures;
    {
        GroupCommitOptions options;
        options.linger = std::chrono::seconds(10);
        options.batch_max = 7;
        GroupCommit queue(*database_, clock_, options);
        for (int i = 0; i < 20; ++i)
            futures.push_back(queue.submit({move("q" + std::to_string(i), a, b, 1)}));
    }
    for (auto& future : futures)
        EXPECT_EQ(future.get()->at(0), kCreated);
}

TEST_F(LedgerTest, AnItemThatTheDatabaseRefusesFailsAlone) {
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    fund(a, 100);
    GroupCommitOptions options;
    options.linger = std::chrono::milliseconds(200);
    GroupCommit queue(*database_, clock_, options);
    TransferRequest bad = move("bad", a, b, 1);
    bad.reason = std::string(300, 'x');
    auto first = queue.submit({move("good1", a, b, 1)});
    auto second = queue.submit({bad});
    auto third = queue.submit({move("good2", a, b, 1)});
    EXPECT_EQ(first.get()->at(0), kCreated);
    EXPECT_EQ(second.get().error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(third.get()->at(0), kCreated);
}

TEST_F(LedgerTest, AFullQueueSaysSoAtOnce) {
    GroupCommitOptions options;
    options.queue_max = 3;
    options.linger = std::chrono::seconds(10);
    const AccountId a = account("0xa");
    const AccountId b = account("0xb");
    fund(a, 10);
    GroupCommit queue(*database_, clock_, options);
    auto fits = queue.submit({move("1", a, b, 1), move("2", a, b, 1)});
    auto too_much = queue.submit({move("3", a, b, 1), move("4", a, b, 1)});
    EXPECT_EQ(too_much.get().error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace gym::ledger
