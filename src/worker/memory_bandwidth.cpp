#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "gym/worker/node_program.hpp"

namespace gym::worker {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 28;  // more than caches hold
constexpr int kTries = 5;

/// Each thread copies its part of `from`. @return seconds.
double copy_once(const std::vector<std::uint8_t>& from, std::vector<std::uint8_t>& to,
                 unsigned threads) {
    const auto start = std::chrono::steady_clock::now();
    {
        std::vector<std::jthread> workers;
        const std::size_t part = from.size() / threads;
        for (unsigned i = 0; i < threads; ++i)
            workers.emplace_back([&, first = i * part] {
                std::memcpy(to.data() + first, from.data() + first, part);
            });
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::uint64_t memory_bandwidth(unsigned threads) {
    const std::vector<std::uint8_t> from(kBytes, 1);
    std::vector<std::uint8_t> to(kBytes, 2);
    double best = copy_once(from, to, threads);
    for (int i = 1; i < kTries; ++i)
        best = std::min(best, copy_once(from, to, threads));
    return static_cast<std::uint64_t>(2.0 * static_cast<double>(kBytes) / best);
}

}  // namespace gym::worker
