#pragma once

#include <cstdint>
#include <vector>

#include "gym/program/program.hpp"

namespace gym::engine {

inline constexpr std::uint64_t kBufferAlignment = 64;

/// Where every slot lives during a run.
struct MemoryPlan {
    enum class Place : std::uint8_t {
        external,  ///< state tensors, constants, inputs: memory that the engine does not plan
        arena,     ///< at `offset` of the arena, shared with slots whose lives do not overlap
        in_state,  ///< a new value written straight over the state tensor of slot `target`
        unused,    ///< a temp that no op writes
    };
    struct Entry {
        Place place = Place::external;
        std::uint64_t offset = 0;
        program::SlotId target = program::kNoSlot;
    };
    std::vector<Entry> slots;
    std::uint64_t arena_bytes = 0;
};

/// Liveness analysis over the op list: a temp lives from the op that writes it to its last reader
/// (or to the end, for outputs and for next values that cannot be written in place).
[[nodiscard]] MemoryPlan plan_memory(const program::Program& program);

}  // namespace gym::engine
