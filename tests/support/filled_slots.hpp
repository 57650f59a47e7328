#pragma once

#include <cstdint>
#include <vector>

#include "gym/protocol/round_record.hpp"

namespace gym::testing {

/// The slots of a round up to the one that a test is about; the others have workers that do
/// nothing.
inline std::vector<protocol::SlotAssignment> filled_slots(protocol::SlotAssignment last) {
    std::vector<protocol::SlotAssignment> slots;
    for (std::uint32_t slot = 0; slot < last.slot; ++slot) {
        Address idle;
        idle.data[0] = 0x1d;
        idle.data[18] = static_cast<std::uint8_t>(slot >> 8);
        idle.data[19] = static_cast<std::uint8_t>(slot);
        slots.push_back({slot, idle, last.sampling_rate_ppm, last.steps});
    }
    slots.push_back(last);
    return slots;
}

}  // namespace gym::testing
