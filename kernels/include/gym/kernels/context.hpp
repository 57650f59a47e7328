// Context of every kernel call: the instruction set and the threads.
#pragma once

#include <memory>

#include "gym/kernels/dispatch.hpp"
#include "gym/kernels/thread_pool.hpp"

namespace gym::kernels {

/// One engine's resources. A context serves one caller at a time; different contexts are
/// independent, so one process can run several levels side by side.
class Context {
  public:
    /// @param isa at most detect_isa() (asserted). @param threads >= 1.
    explicit Context(Isa isa = detect_isa(), int threads = 1);

    [[nodiscard]] Isa isa() const { return isa_; }
    [[nodiscard]] int threads() const { return pool_->threads(); }
    [[nodiscard]] ThreadPool& pool() const { return *pool_; }

  private:
    Isa isa_;
    std::unique_ptr<ThreadPool> pool_;
};

}  // namespace gym::kernels
