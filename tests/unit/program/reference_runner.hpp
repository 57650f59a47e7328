#pragma once

// Runs a program by the definition of its ops, for tests of what ops mean.

#include <bit>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "gym/engine/reference.hpp"
#include "gym/program/expand.hpp"
#include "gym/program/program.hpp"

namespace gym::program::testing {

class ReferenceRunner {
  public:
    explicit ReferenceRunner(const ProgramParts& parts) : parts_(parts) {
        for (const Slot& slot : parts_.slots) {
            // Whole words: aligned for every dtype, and never empty.
            memory_.emplace_back(size_bytes(slot) / 8 + 1);
            if (slot.kind == SlotKind::kConstant)
                std::memcpy(memory_.back().data(), slot.value.data(), slot.value.size());
        }
    }

    template <class T>
    void set(SlotId slot, const std::vector<T>& values) {
        std::memcpy(memory_[slot].data(), values.data(), values.size() * sizeof(T));
    }
    template <class T>
    [[nodiscard]] std::vector<T> get(SlotId slot) const {
        std::vector<T> values(element_count(parts_.slots[slot].dims));
        std::memcpy(values.data(), memory_[slot].data(), values.size() * sizeof(T));
        return values;
    }
    [[nodiscard]] std::uint8_t* bytes(SlotId slot) {
        return reinterpret_cast<std::uint8_t*>(memory_[slot].data());
    }

    void run() {
        engine::SlotPointers pointers;
        for (SlotId slot = 0; slot < memory_.size(); ++slot)
            pointers.push_back(bytes(slot));
        for (const Op& op : parts_.ops) {
            if (info(op.code).macro)
                engine::run_primitives(
                    parts_.slots,
                    expand(parts_.slots, op, static_cast<SlotId>(parts_.slots.size())), pointers);
            else
                engine::run_primitive(engine::SlotTable(parts_.slots), op, pointers);
        }
    }

  private:
    const ProgramParts& parts_;
    std::vector<std::vector<std::uint64_t>> memory_;
};

}  // namespace gym::program::testing
