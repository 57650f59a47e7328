#pragma once

#include <cstdint>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/engine.hpp"

namespace gym::node {

/// The speed of a fixed exact program on this machine, and the program's final state root, which is
/// the same on every machine.
struct Benchmark {
    std::uint64_t flops_per_second = 0;
    Digest final_state_root;
};
/// Runs the program repeatedly for about `duration_ms`. @errors as engine::run_unit().
[[nodiscard]] Result<Benchmark> run_benchmark(const engine::EngineOptions& options,
                                              std::int64_t duration_ms);

}  // namespace gym::node
