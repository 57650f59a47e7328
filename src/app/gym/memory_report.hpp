#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>

#include "gym/common/result.hpp"
#include "gym/engine/memory.hpp"
#include "gym/program/train_program.hpp"

namespace gym::app {

/// What a program takes to run on this machine with one thread, and what there is.
struct MemoryReport {
    engine::MemoryNeed need;
    std::uint64_t available = 0;
    /// Windows of the largest batch that fits; 0: not one does. None if only the program is known,
    /// or the model's batch is fixed.
    std::optional<std::uint32_t> largest_batch;
};

/// @param config what `program` was built from; nullptr: not known.
/// @errors kIo where the system does not say how much memory there is.
[[nodiscard]] Result<MemoryReport> memory_report(const program::Program& program,
                                                 const program::TrainConfig* config);

/// The largest batch, a multiple of its micro-batches, whose program takes no more than `bytes`; 0
/// if not even the smallest does.
[[nodiscard]] std::uint32_t largest_batch(program::TrainConfig config, std::uint64_t bytes);

void print_memory(const MemoryReport& report);
[[nodiscard]] boost::json::object memory_json(const MemoryReport& report);

}  // namespace gym::app
