// A fixed set of threads that share loops. Which thread gets which part of a parallel_for is a
// function of the loop's length and the number of threads alone.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace gym::kernels {

/// Part of a loop: indices begin <= i < end, run by thread number `thread`.
struct LoopChunk {
    int64_t begin;
    int64_t end;
    int thread;
};

/// Reference to a callable; does not own it (a parallel_for ends before its body goes away).
class ChunkBody {
  public:
    // A lambda at the call site; the requirement keeps copies apart.
    // NOLINTBEGIN(google-explicit-constructor,bugprone-forwarding-reference-overload)
    template <typename F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, ChunkBody>) ChunkBody(F&& body)
        : object_(const_cast<void*>(static_cast<const void*>(&body))),
          call_([](void* object, LoopChunk chunk) {
              (*static_cast<std::remove_reference_t<F>*>(object))(chunk);
          }) {}
    // NOLINTEND(google-explicit-constructor,bugprone-forwarding-reference-overload)
    void operator()(LoopChunk chunk) const { call_(object_, chunk); }

  private:
    void* object_;
    void (*call_)(void*, LoopChunk);
};

class ThreadPool {
  public:
    /// Starts threads - 1 threads; the caller of parallel_for is the last one. threads >= 1.
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    [[nodiscard]] int threads() const { return threads_; }

    /// Runs body over [0, count) in at most threads() contiguous chunks whose lengths are multiples
    /// of `grain` (the last one excepted), and returns when all are done. The body must not throw
    /// and must not call parallel_for of the same pool. Every thread runs with an exact float
    /// environment.
    void parallel_for(int64_t count, int64_t grain, ChunkBody body);

    /// The same in pieces of `grain` that threads take as they become free, so that one that the
    /// system holds up does not hold up the loop. For bodies whose results do not depend on
    /// chunk.thread; a thread may be called any number of times.
    void parallel_for_dynamic(int64_t count, int64_t grain, ChunkBody body);

  private:
    struct State;
    void work(int thread);

    int threads_;
    std::unique_ptr<State> state_;
};

}  // namespace gym::kernels
