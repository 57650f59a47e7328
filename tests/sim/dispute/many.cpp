#include "many.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <thread>

namespace gym::game::sim {
namespace {

constexpr unsigned kThreadsMax = 256;
constexpr std::uint64_t kNone = ~std::uint64_t{0};

/// Seeds of the histories under way, by thread: for whoever aborts.
std::array<std::atomic<std::uint64_t>, kThreadsMax> under_way;

/// Uses what a signal handler may.
void tell_seeds(int) {
    for (const auto& seed : under_way) {
        const std::uint64_t one = seed.load();
        if (one == kNone) continue;
        std::array<char, 64> text{};
        const int size =
            std::snprintf(text.data(), text.size(), "history under way: GYM_TEST_SEED=%llu\n",
                          static_cast<unsigned long long>(one));
        if (::write(STDERR_FILENO, text.data(), static_cast<std::size_t>(size)) < 0) return;
    }
}

class Run {
  public:
    Run(std::uint64_t first, std::uint64_t histories) : first_(first), histories_(histories) {}

    void play(unsigned thread) {
        Many part;
        for (std::uint64_t i = next_++; i < histories_ && !failed_; i = next_++) {
            under_way[thread] = first_ + i;
            const Outcome outcome = simulate(first_ + i);
            ++part.played;
            if (!outcome.violations.empty()) fail(first_ + i, outcome.violations);
            part.total += outcome;
        }
        under_way[thread] = kNone;
        const std::lock_guard lock(mutex_);
        many_.total += part.total;
        many_.played += part.played;
    }
    [[nodiscard]] Many result() const { return many_; }

  private:
    void fail(std::uint64_t seed, const std::vector<std::string>& violations) {
        failed_ = true;
        const std::lock_guard lock(mutex_);
        if (many_.failed && *many_.failed < seed) return;
        many_.failed = seed;
        many_.violations = violations;
    }

    std::uint64_t first_, histories_;
    std::atomic<std::uint64_t> next_ = 0;
    std::atomic<bool> failed_ = false;
    std::mutex mutex_;
    Many many_;
};

}  // namespace

Many simulate_many(std::uint64_t first, std::uint64_t histories, unsigned threads) {
    for (auto& seed : under_way)
        seed = kNone;
    const auto before = std::signal(SIGABRT, tell_seeds);
    Run run(first, histories);
    {
        std::vector<std::jthread> others;
        for (unsigned i = 1; i < std::min(threads, kThreadsMax); ++i)
            others.emplace_back([&run, i] { run.play(i); });
        run.play(0);
    }
    std::signal(SIGABRT, before);
    return run.result();
}

}  // namespace gym::game::sim
