#include "gym/kernels/thread_pool.hpp"

#include <array>
#include <atomic>

#include "gym/kernels/float_environment.hpp"
#include "kernel_test_support.hpp"

#if defined(GYM_KERNELS_X86)
#include <xmmintrin.h>
#endif

namespace gym::kernels {
namespace {

TEST(ThreadPool, CoversEveryIndexOnceInWholeGrains) {
    for (const int threads : {1, 2, 3, 7}) {
        ThreadPool pool(threads);
        for (const int64_t count :
             {int64_t{0}, int64_t{1}, int64_t{5}, int64_t{16}, int64_t{100}}) {
            for (const int64_t grain : {int64_t{1}, int64_t{4}, int64_t{64}}) {
                std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
                pool.parallel_for(count, grain, [&](LoopChunk chunk) {
                    EXPECT_EQ(chunk.begin % grain, 0);
                    EXPECT_TRUE(chunk.end % grain == 0 || chunk.end == count);
                    EXPECT_LT(chunk.thread, threads);
                    for (int64_t i = chunk.begin; i < chunk.end; ++i)
                        ++seen[static_cast<size_t>(i)];
                });
                for (const std::atomic<int>& times : seen)
                    EXPECT_EQ(times, 1);
            }
        }
    }
}

TEST(ThreadPool, DynamicLoopsCoverEveryIndexOnceInWholeGrains) {
    for (const int threads : {1, 2, 5}) {
        ThreadPool pool(threads);
        for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{1000}}) {
            for (const int64_t grain : {int64_t{1}, int64_t{4}, int64_t{64}}) {
                std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
                pool.parallel_for_dynamic(count, grain, [&](LoopChunk chunk) {
                    EXPECT_EQ(chunk.begin % grain, 0);
                    EXPECT_TRUE(chunk.end % grain == 0 || chunk.end == count);
                    EXPECT_LT(chunk.thread, threads);
                    for (int64_t i = chunk.begin; i < chunk.end; ++i)
                        ++seen[static_cast<size_t>(i)];
                });
                for (const std::atomic<int>& times : seen)
                    EXPECT_EQ(times, 1);
            }
        }
    }
}

TEST(ThreadPool, ThePartOfAThreadDependsOnTheShapeAlone) {
    ThreadPool pool(3);
    std::array<LoopChunk, 3> first{}, second{};
    for (auto* chunks : {&first, &second}) {
        pool.parallel_for(10, 1,
                          [&](LoopChunk c) { (*chunks)[static_cast<size_t>(c.thread)] = c; });
    }
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(first[i].begin, second[i].begin);
        EXPECT_EQ(first[i].end, second[i].end);
    }
    EXPECT_EQ(first[2].begin, 8);
}

TEST(ThreadPool, ManyLoopsInARowDoNotLoseWork) {
    ThreadPool pool(2);
    std::atomic<int64_t> total = 0;
    constexpr int kLoops = 2000;
    for (int i = 0; i < kLoops; ++i) {
        pool.parallel_for(2, 1, [&](LoopChunk chunk) { total += chunk.end - chunk.begin; });
    }
    EXPECT_EQ(total, 2 * kLoops);
}

#if defined(GYM_KERNELS_X86)
TEST(ThreadPool, EveryThreadComputesExactlyEvenIfTheCallerFlushes) {
    const unsigned saved = _mm_getcsr();
    _mm_setcsr(saved | 1u << 15 | 1u << 6);
    std::atomic<int> exact = 0;
    {
        ThreadPool pool(2);
        pool.parallel_for(2, 1, [&](LoopChunk) { exact += float_environment_is_exact() ? 1 : 0; });
    }
    EXPECT_FALSE(float_environment_is_exact());
    _mm_setcsr(saved);
    EXPECT_EQ(exact, 2);
}
#endif

}  // namespace
}  // namespace gym::kernels
