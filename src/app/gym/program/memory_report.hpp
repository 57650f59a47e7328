#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "gym/common/result.hpp"
#include "gym/engine/memory.hpp"
#include "gym/program/train_program.hpp"

namespace gym::app {

/// Memory that a program needs on this machine with one thread, memory that is available here, and
/// what it would need on a GPU.
struct MemoryReport {
    engine::MemoryNeed need;
    engine::MemoryNeed on_gpu;
    std::uint64_t available = 0;
    /// Windows of the largest batch that fits; 0: not one does. None if only the program is known,
    /// or the model's batch is fixed.
    std::optional<std::uint32_t> largest_batch;
    /// Advice if the program needs more memory than there is; else empty.
    std::string advice;
};

/// @param config what `program` was built from; nullptr: not known.
/// @errors kIo where the system does not say how much memory there is.
[[nodiscard]] Result<MemoryReport> memory_report(const program::Program& program,
                                                 const program::TrainConfig* config);

/// The largest batch, a multiple of its micro-batches, whose program takes no more than `bytes`; 0
/// if not even the smallest does.
[[nodiscard]] std::uint32_t largest_batch(program::TrainConfig config, std::uint64_t bytes);

/// How a batch goes through the model.
struct BatchSplit {
    std::uint32_t batch = 0;  ///< 0: not even one window is legal and fits
    std::uint32_t micro_batches = 1;
};

/// The fewest micro-batches with which the config's batch is legal and takes no more than `bytes`;
/// batch 0: none do.
[[nodiscard]] BatchSplit split_that_fits(program::TrainConfig config, std::uint64_t bytes);
/// The largest batch of any number of micro-batches, with the fewest of these.
[[nodiscard]] BatchSplit largest_split(program::TrainConfig config, std::uint64_t bytes);

/// `error`, why no program could be made of `config`; for a model that is too large for one, with
/// what to change.
[[nodiscard]] Error with_size_advice(Error error, const program::TrainConfig& config);

void print_memory(const MemoryReport& report);
[[nodiscard]] boost::json::object memory_json(const MemoryReport& report);

}  // namespace gym::app
