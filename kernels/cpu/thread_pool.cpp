#include "gym/kernels/thread_pool.hpp"

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
    uint64_t generation = 0;  // of the loop to run
    int running = 0;
    bool stop = false;
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
    std::unique_lock lock(state.mutex);
    for (;;) {
        state.start.wait(lock, [&] { return state.stop || state.generation != seen; });
        if (state.stop) return;
        seen = state.generation;
        const ChunkBody* body = state.body;
        const LoopChunk part = chunk_of(state.count, state.chunk, thread);
        lock.unlock();
        if (part.begin < part.end) (*body)(part);
        lock.lock();
        if (--state.running == 0) state.done.notify_one();
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
    std::unique_lock lock(state.mutex);
    state.done.wait(lock, [&] { return state.running == 0; });
}

}  // namespace gym::kernels
