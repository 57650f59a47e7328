#include "batcher.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <set>

namespace gym::rpc {
namespace {

using std::chrono::milliseconds;

TEST(Batcher, ASingleItemIsWorkedOnAtOnce) {
    std::promise<std::size_t> worked;
    Batcher<int> batcher(10, milliseconds(10'000),
                         [&](std::vector<int> batch) { worked.set_value(batch.size()); });
    batcher.add(1);
    auto size = worked.get_future();
    ASSERT_EQ(size.wait_for(std::chrono::seconds(5)), std::future_status::ready);
    EXPECT_EQ(size.get(), 1U);
}

TEST(Batcher, WhatComesMeanwhileIsOneBatchAndNoneIsTooLarge) {
    std::promise<void> go;
    auto gone = go.get_future().share();
    std::mutex mutex;
    std::vector<std::size_t> sizes;
    std::set<int> seen;
    {
        Batcher<int> batcher(8, milliseconds(0), [&](std::vector<int> batch) {
            gone.wait();
            const std::scoped_lock lock(mutex);
            sizes.push_back(batch.size());
            seen.insert(batch.begin(), batch.end());
        });
        batcher.add(0);
        // The first batch waits; the others come in the meantime.
        std::this_thread::sleep_for(milliseconds(50));
        for (int i = 1; i <= 20; ++i)
            batcher.add(i);
        go.set_value();
    }
    EXPECT_EQ(seen.size(), 21U) << "the end works off what waits, and nothing twice";
    EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 8, 8, 4}));
}

TEST(Batcher, AFullBatchDoesNotWaitForThePause) {
    std::atomic<int> worked = 0;
    Batcher<int> batcher(4, milliseconds(60'000), [&](const std::vector<int>& batch) {
        worked += static_cast<int>(batch.size());
    });
    batcher.add(0);
    while (worked < 1)
        std::this_thread::sleep_for(milliseconds(1));
    for (int i = 0; i < 4; ++i)
        batcher.add(i);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (worked < 5 && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(worked, 5);
}

}  // namespace
}  // namespace gym::rpc
