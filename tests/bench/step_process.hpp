// A process that makes training steps on demand, so that two trainers can take turns and each one's
// peak memory is its own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

namespace gym::bench {

class StepProcess {
  public:
    /// Makes one step.
    using Step = std::function<void()>;

    /// Forks; the child calls `make` once and its result for every step. The parent must not have
    /// started threads yet.
    explicit StepProcess(const std::function<Step()>& make);
    ~StepProcess();
    StepProcess(const StepProcess&) = delete;
    StepProcess& operator=(const StepProcess&) = delete;

    /// Seconds of one step.
    double step();
    /// How far the child's resident memory rose, at its highest, above what it was born with.
    std::uint64_t peak_bytes();

  private:
    void serve(const std::function<Step()>& make) const;
    double ask(char question);

    pid_t child_ = 0;
    int requests_[2] = {-1, -1};
    int answers_[2] = {-1, -1};
};

}  // namespace gym::bench
