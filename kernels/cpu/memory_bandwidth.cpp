#include "gym/kernels/memory_bandwidth.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <vector>

namespace gym::kernels {
namespace {

constexpr std::int64_t kBytes = std::int64_t{1} << 28, kPieceBytes = std::int64_t{1} << 23;
// Short pieces and many of them: on a machine that others use too, some run undisturbed.
constexpr int kTries = 200;

}  // namespace

double copy_bandwidth(const Context& context) {
    using Clock = std::chrono::steady_clock;
    const std::vector<char> from(kBytes, 1);
    std::vector<char> to(kBytes, 2);
    double best = std::numeric_limits<double>::max();
    for (int i = 0; i < kTries; ++i) {
        // One piece after another, so that each comes from memory again.
        const std::int64_t first = i * kPieceBytes % kBytes;
        const auto start = Clock::now();
        context.pool().parallel_for(kPieceBytes, 4096, [&](LoopChunk chunk) {
            std::memcpy(to.data() + first + chunk.begin, from.data() + first + chunk.begin,
                        static_cast<std::size_t>(chunk.end - chunk.begin));
        });
        best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    }
    return 2.0 * static_cast<double>(kPieceBytes) / best;
}

}  // namespace gym::kernels
