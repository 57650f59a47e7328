#pragma once

#include <memory>

#include "gym/coordinator/compute.hpp"

namespace gym::coordinator {

struct EngineComputeOptions {
    unsigned threads = 1;
    std::string isa = "auto";  ///< as engine::EngineOptions
};

/// Compute by the engine. Keeps the last dataset and the last program decoded. Thread-safe.
[[nodiscard]] std::unique_ptr<Compute> make_engine_compute(
    const EngineComputeOptions& options = {});

}  // namespace gym::coordinator
