#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "gym/common/function_ref.hpp"

namespace gym::data {

/// Calls `work(thread, i)` for every i < count, on `threads` threads of which the caller is 0.
inline void for_each_index(std::size_t count, unsigned threads,
                           FunctionRef<void(unsigned, std::size_t)> work) {
    std::atomic<std::size_t> next{0};
    const auto run = [&](unsigned thread) {
        for (std::size_t i = next++; i < count; i = next++)
            work(thread, i);
    };
    std::vector<std::jthread> pool;
    pool.reserve(threads);
    for (unsigned thread = 1; thread < threads && thread < count; ++thread)
        pool.emplace_back(run, thread);
    run(0);
}

}  // namespace gym::data
