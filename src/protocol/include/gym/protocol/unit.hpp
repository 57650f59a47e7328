#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::protocol {

/// Kind of a unit's computation. Values are signed and stored: never renumber.
enum class UnitKind : std::uint8_t {
    kTrain = 1,      ///< H inner optimizer steps from the round's base state
    kAggregate = 2,  ///< exact mean of the included deltas, then the outer step
    kEvaluate = 3,   ///< validation loss of a base state
};

/// "train", "aggregate", "evaluate".
[[nodiscard]] std::string_view to_string(UnitKind kind) noexcept;
/// @errors kMalformed for another name or value.
[[nodiscard]] Result<UnitKind> parse_unit_kind(std::string_view name);
[[nodiscard]] Result<UnitKind> unit_kind_from_number(std::uint8_t value);

/// Slots from here up belong to the coordinator's own units, so a worker's slot never collides with
/// them.
inline constexpr std::uint32_t kAggregateSlot = 0xFFFF'FFFFU;
inline constexpr std::uint32_t kEvaluateSlot = 0xFFFF'FFFEU;
/// Whether a slot is one of the coordinator's own.
[[nodiscard]] constexpr bool is_coordinators(std::uint32_t slot) noexcept {
    return slot >= kEvaluateSlot;
}
/// Most slots (so workers) of one round.
inline constexpr std::uint32_t kSlotsMax = 65'536;

/// Names one unit for ever: (job, round, slot, attempt).
struct UnitKey {
    Digest job_id;
    std::uint64_t round = 0;
    std::uint32_t slot = 0;
    std::uint32_t attempt = 0;

    friend auto operator<=>(const UnitKey&, const UnitKey&) = default;
};

/// H("gym.unit.v1" | job | round | slot | attempt), SHA-256: the id that sampling, the registry and
/// the ledger use.
[[nodiscard]] Digest unit_id(const UnitKey& key);

}  // namespace gym::protocol
