#include "program/training_progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <utility>

#include "gym/common/duration_text.hpp"

namespace gym::app {
namespace {

constexpr auto kRedrawInterval = std::chrono::milliseconds(100);
constexpr auto kLineInterval = std::chrono::seconds(5);
constexpr int kBarWidth = 24;

volatile std::sig_atomic_t interrupt_seen = 0;
void on_interrupt(int) {
    interrupt_seen = 1;
}

std::string bar(double done) {
    std::string text;
    for (int i = 0; i < kBarWidth; ++i)
        text += i < done * kBarWidth ? '#' : '.';
    return text;
}

}  // namespace

TrainingProgress::TrainingProgress(std::string label)
    : label_(std::move(label)), terminal_(::isatty(STDERR_FILENO) == 1) {}

void TrainingProgress::show(const engine::UnitProgress& progress) {
    const auto now = Clock::now();
    if (!first_step_) first_step_ = progress.step - std::min<std::uint64_t>(1, progress.step);
    const bool last = progress.step == progress.steps;
    const bool due = now - last_shown_ >= (terminal_ ? Clock::duration(kRedrawInterval)
                                                     : Clock::duration(kLineInterval));
    if (!due && !last) return;
    last_shown_ = now;
    const double elapsed = std::chrono::duration<double>(now - start_).count();
    const double done = static_cast<double>(progress.step) /
                        static_cast<double>(std::max<std::uint64_t>(1, progress.steps));
    const auto taken = static_cast<double>(progress.step - *first_step_);
    const double left =
        taken > 0 ? elapsed / taken * static_cast<double>(progress.steps - progress.step) : 0;
    std::array<char, 256> line{};
    std::snprintf(line.data(), line.size(), "%s [%s] %llu/%llu  loss %.4f  %.0f tokens/s  ETA %s",
                  label_.c_str(), bar(done).c_str(), static_cast<unsigned long long>(progress.step),
                  static_cast<unsigned long long>(progress.steps),
                  static_cast<double>(progress.loss), progress.tokens_per_second,
                  duration_text(left).c_str());
    std::fprintf(stderr, terminal_ ? "\r%s\033[K" : "%s\n", line.data());
    open_line_ = terminal_;
}

void TrainingProgress::clear() {
    if (!std::exchange(open_line_, false)) return;
    (void)std::fputs("\r\033[K", stderr);
    last_shown_ = {};
}

void TrainingProgress::finish() {
    if (std::exchange(open_line_, false)) std::fputc('\n', stderr);
}

InterruptGuard::InterruptGuard() {
    interrupt_seen = 0;
    old_interrupt_ = std::signal(SIGINT, on_interrupt);
    old_terminate_ = std::signal(SIGTERM, on_interrupt);
}

InterruptGuard::~InterruptGuard() {
    std::signal(SIGINT, old_interrupt_);
    std::signal(SIGTERM, old_terminate_);
}

bool InterruptGuard::interrupted() const {
    return interrupt_seen != 0;
}

}  // namespace gym::app
