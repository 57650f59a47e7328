#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "gym/db/value.hpp"
#include "gym/registry/worker_memory.hpp"

namespace gym::registry {

/// Of a row with `worker_memory_bytes` and `worker_gpu_memory_bytes`, which older jobs lack.
[[nodiscard]] inline WorkerMemory worker_memory_of(const db::Row& row) {
    const auto bytes = [&](std::string_view column) {
        return row.get<std::optional<std::uint64_t>>(column).value_or(0);
    };
    return {bytes("worker_memory_bytes"), bytes("worker_gpu_memory_bytes")};
}

}  // namespace gym::registry
