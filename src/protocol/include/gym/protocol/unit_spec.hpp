#pragma once

#include <cstdint>

#include "gym/engine/unit.hpp"
#include "gym/protocol/round_record.hpp"

namespace gym::protocol {

/// The engine's computation for a slot of a round. Worker, verifier and coordinator take it from
/// here, so that none of them can mean another unit by the same record.
[[nodiscard]] engine::UnitSpec unit_spec(const RoundRecord& record, std::uint32_t slot);

}  // namespace gym::protocol
