#include "gym/kernels/thread_pool.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "cpu/check.hpp"
#include "gym/kernels/float_environment.hpp"

namespace gym::kernels {

struct ThreadPool::State {
    std::mutex mutex;
    std::condition_variable start;
    std::condition_variable done;
    std::atomic<uint64_t> generation = 0;  // of the loop to run; counted up under the mutex
    std::atomic<int> running = 0;
    std::atomic<bool> stop = false;
    // Of the current loop: written before `generation` moves, read after.
    const ChunkBody* body = nullptr;
    int64_t count = 0;
    int64_t chunk = 0;
    std::vector<std::thread> threads;
};

namespace {

LoopChunk chunk_of(int64_t count, int64_t chunk, int thread) {
    const int64_t begin = chunk * thread < count ? chunk * thread : count;
    const int64_t end = begin + chunk < count ? begin + chunk : count;
    return {begin, end, thread};
}

/// Loops follow one another within microseconds, and sleeping takes tens of them: so a thread looks
/// around for about that long before it sleeps.
template <typename Condition>
bool holds_soon(const Condition& condition) {
    constexpr int kLooks = 2000;
    for (int i = 0; i < kLooks; ++i) {
        if (condition()) return true;
#if defined(GYM_KERNELS_X86)
        __builtin_ia32_pause();
#endif
    }
    return condition();
}

}  // namespace

ThreadPool::ThreadPool(int threads) : threads_(threads), state_(std::make_unique<State>()) {
    GYM_KERNELS_REQUIRE(threads >= 1);
    for (int i = 1; i < threads; ++i)
        state_->threads.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->stop = true;
    }
    state_->start.notify_all();
    for (std::thread& thread : state_->threads)
        thread.join();
}

void ThreadPool::work(int thread) {
    const ExactFloatEnvironment exact;
    State& state = *state_;
    uint64_t seen = 0;
    const auto called = [&] { return state.stop || state.generation != seen; };
    for (;;) {
        if (!holds_soon(called)) {
            std::unique_lock lock(state.mutex);
            state.start.wait(lock, called);
        }
        if (state.stop) return;
        seen = state.generation;
        const LoopChunk part = chunk_of(state.count, state.chunk, thread);
        if (part.begin < part.end) (*state.body)(part);
        if (--state.running == 0) {
            // Not between the caller's look and its sleep.
            const std::lock_guard lock(state.mutex);
            state.done.notify_one();
        }
    }
}

void ThreadPool::parallel_for(int64_t count, int64_t grain, ChunkBody body) {
    GYM_KERNELS_REQUIRE(count >= 0 && grain >= 1);
    if (count == 0) return;
    const ExactFloatEnvironment exact;
    const int64_t grains = (count + grain - 1) / grain;
    const int64_t chunk = (grains + threads_ - 1) / threads_ * grain;
    if (threads_ == 1 || chunk >= count) {
        body({0, count, 0});
        return;
    }
    State& state = *state_;
    {
        const std::lock_guard lock(state.mutex);
        GYM_KERNELS_REQUIRE(state.running == 0);
        state.body = &body;
        state.count = count;
        state.chunk = chunk;
        state.running = threads_ - 1;
        ++state.generation;
    }
    state.start.notify_all();
    body(chunk_of(count, chunk, 0));
    const auto finished = [&] { return state.running == 0; };
    if (holds_soon(finished)) return;
    std::unique_lock lock(state.mutex);
    state.done.wait(lock, finished);
}

void ThreadPool::parallel_for_dynamic(int64_t count, int64_t grain, ChunkBody body) {
    GYM_KERNELS_REQUIRE(count >= 0 && grain >= 1);
    if (threads_ == 1 || count <= grain) {
        parallel_for(count, grain, body);
        return;
    }
    std::atomic<int64_t> next = 0;
    parallel_for(threads_, 1, [&](LoopChunk worker) {
        for (int64_t i = next.fetch_add(grain); i < count; i = next.fetch_add(grain))
            body({i, i + grain < count ? i + grain : count, worker.thread});
    });
}

}  // namespace gym::kernels
