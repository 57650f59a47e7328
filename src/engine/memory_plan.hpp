#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "gym/program/program.hpp"

namespace gym::engine {

inline constexpr std::uint64_t kBufferAlignment = 64;

/// Where every slot lives during a run.
struct MemoryPlan {
    enum class Place : std::uint8_t {
        kExternal,  ///< state tensors, constants, inputs: memory that the engine does not plan
        kArena,     ///< at `offset` of the arena, shared with slots whose lives do not overlap
        kInState,   ///< a new value written straight over the state tensor of slot `target`
        kUnused,    ///< a temp that no op writes
    };
    struct Entry {
        Place place = Place::kExternal;
        std::uint64_t offset = 0;
        program::SlotId target = program::kNoSlot;
    };
    std::vector<Entry> slots;
    std::uint64_t arena_bytes = 0;
};

/// Whether an output can be read after a run. The logits of a program that trains cannot: no record
/// has them, and they are the largest tensor of many models. Gradients can, at no cost: none is
/// read for the last time before the last activation is.
[[nodiscard]] bool outlives_the_run(const program::Program& program, std::string_view output);

/// Liveness analysis over the op list: a temp lives from the op that writes it to its last reader
/// (or to the end, for outputs that outlive the run and for next values that cannot be written in
/// place).
[[nodiscard]] MemoryPlan plan_memory(const program::Program& program);

}  // namespace gym::engine
