#pragma once

#include <cstdint>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/engine.hpp"
#include "gym/program/program.hpp"

namespace gym::node {

/// The speed of the steps of a fixed exact program on this machine, and the program's final state
/// root, which is the same on every machine, and on every GPU.
struct Benchmark {
    std::uint64_t flops_per_second = 0;
    Digest final_state_root;
};
/// What is run: on a GPU a larger model, whose products take longer than their launches.
/// @param options device counts; it need not be there. @errors as engine::parse_device().
[[nodiscard]] Result<program::Program> benchmark_program(const engine::EngineOptions& options);

/// Runs the program repeatedly for about `duration_ms`. @errors as engine::Trainer's.
[[nodiscard]] Result<Benchmark> run_benchmark(const engine::EngineOptions& options,
                                              std::int64_t duration_ms);

}  // namespace gym::node
